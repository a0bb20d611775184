import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readSchedule } from '../../../meta/cron-schedule.ts';
import { zonedTime } from './cron-job-pass.ts';
import { dueOf, lastTime, untilNextMs } from './due-time.ts';

const time = (text: string): number => Date.parse(`2026-01-01T${text}Z`);

describe('when a cron job is due', () => {
  for (const [text, since, now, deadline, at, missed, wait] of [
    ['0 * * * *', '10:00:00', '10:59:59', undefined, undefined, 0, 1_100],
    ['0 * * * *', '10:00:00', '11:00:00', undefined, '11:00:00', 1, 3600_100],
    ['0 * * * *', '10:00:00', '11:30:00', undefined, '11:00:00', 1, 1800_100],
    ['0 * * * *', '10:00:00', '13:30:00', undefined, '13:00:00', 3, 1800_100],
    ['* * * * *', '10:00:00', '13:30:30', undefined, '13:30:00', 210, 30_100],
    ['0 * * * *', '10:00:00', '11:30:00', 60, undefined, 0, 1800_100],
    ['0 * * * *', '10:00:00', '11:00:30', 60, '11:00:00', 1, 3570_100],
    ['@every 90s', '10:00:00', '10:03:10', undefined, '10:03:00', 2, 80_100],
  ] as const) {
    it(`${text} since ${since} at ${now}, deadline ${deadline}`, () => {
      const read = readSchedule(text);
      assert.ok(!('problem' in read));
      const times = { schedule: read.schedule, zone: 'UTC', sinceMs: time(since), nowMs: time(now) };
      const deadlineMs = deadline === undefined ? undefined : deadline * 1_000;
      const expected = { at: at === undefined ? undefined : time(at), missed };
      assert.deepEqual(dueOf({ ...times, deadlineMs }), expected);
      assert.equal(untilNextMs(times), wait);
    });
  }

  it('after a gap at first and very many times since: the last one', () => {
    const read = readSchedule('* * * 1-11 *');
    assert.ok(!('problem' in read));
    const [sinceMs, nowMs] = [Date.parse('2023-11-30T23:58:00Z'), Date.parse('2025-12-24T12:00:00Z')];
    const { at } = dueOf({ schedule: read.schedule, zone: 'UTC', sinceMs, nowMs });
    assert.equal(at, Date.parse('2025-11-30T23:59:00Z'));
  });

  it('the last of a million times is found in few steps', () => {
    let steps = 0;
    const everySecond = (after: number): number => {
      steps += 1;
      return Math.floor(after / 1_000) * 1_000 + 1_000;
    };
    for (const nowMs of [1_000_000_000, 1_000_000_999, 3_000, 2_001]) {
      assert.equal(lastTime(everySecond, 2_000, nowMs), Math.floor(nowMs / 1_000) * 1_000);
    }
    assert.ok(steps < 100, `${steps}`);
  });

  for (const [zone, expected] of [
    ['UTC', '2026-01-01T10:00:00Z'],
    ['Europe/Berlin', '2026-01-01T11:00:00+01:00'],
    ['America/New_York', '2026-01-01T05:00:00-05:00'],
    ['Asia/Kolkata', '2026-01-01T15:30:00+05:30'],
  ] as const) {
    it(`written in ${zone}`, () => assert.equal(zonedTime(time('10:00:00'), zone), expected));
  }
});
