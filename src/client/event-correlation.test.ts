import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { ManualClock } from '../base/time/clock.ts';
import { type CorrelatedEvent, EventCorrelation, type ReportedEvent } from './event-correlation.ts';

const about = { apiVersion: 'v1', kind: 'Pod', namespace: 'n', name: 'p', uid: 'u' };
const event = (message: string, more: Partial<ReportedEvent> = {}): ReportedEvent => ({
  ...{ about, type: 'Warning', reason: 'Failed', message },
  ...more,
});

describe('events of one reporter', () => {
  it('that are equal are one with a count, named after the object and the time', () => {
    const clock = new ManualClock(0x1000);
    const events = new EventCorrelation(clock);
    const first = events.correlate(event('a'));
    clock.advance(5_000);
    const second = events.correlate(event('a'));
    assert.equal(first?.name, `p.${(0x1000 * 1e6 + 1).toString(16)}`);
    assert.deepEqual(second, { ...first, count: 2, lastMs: 0x1000 + 5_000 });
    assert.deepEqual([first?.count, first?.firstMs, first?.lastMs], [1, 0x1000, 0x1000]);
  });

  for (const [what, other] of [
    ['message', event('b')],
    ['reason', event('a', { reason: 'Other' })],
    ['type', event('a', { type: 'Normal' })],
    ['object', event('a', { about: { ...about, name: 'q' } })],
    ['uid', event('a', { about: { ...about, uid: 'v' } })],
    ['namespace', event('a', { about: { ...about, namespace: 'm' } })],
  ] as const) {
    it(`that differ in their ${what} are two, of different names`, () => {
      const events = new EventCorrelation(new ManualClock());
      const names = [event('a'), other].map((each) => events.correlate(each)?.name);
      assert.equal(new Set(names).size, 2);
      assert.equal(events.correlate(other)?.count, 2);
    });
  }

  it('that differ only in their message are combined from the tenth on, until ten minutes pass without one', () => {
    const clock = new ManualClock();
    const events = new EventCorrelation(clock);
    const of = (from: number, to: number): readonly (CorrelatedEvent | undefined)[] =>
      Array.from({ length: to - from }, (_, at) => events.correlate(event(`message ${from + at}`)));
    for (const [at, each] of of(0, 9).entries()) assert.equal(each?.message, `message ${at}`);
    const combined = of(9, 12);
    assert.deepEqual(
      combined.map((each) => [each?.message, each?.count]),
      [9, 10, 11].map((at) => [`(combined from similar events): message ${at}`, at - 8]),
    );
    assert.equal(new Set(combined.map((each) => each?.name)).size, 1);
    clock.advance(limits.eventsCombinedMs);
    assert.match(events.correlate(event('late'))?.message ?? '', /^\(combined/);
    clock.advance(limits.eventsCombinedMs + 1);
    assert.equal(events.correlate(event('later'))?.message, 'later');
  });

  it('are limited per object: a burst, then one in five minutes; what is left out is counted', () => {
    const clock = new ManualClock();
    const events = new EventCorrelation(clock);
    const sent = Array.from({ length: 100 }, () => events.correlate(event('a')));
    assert.equal(sent.filter((each) => each !== undefined).length, 25);
    assert.ok(events.correlate(event('a', { about: { ...about, uid: 'other' } })));
    clock.advance(5 * 60_000);
    assert.equal(events.correlate(event('a'))?.count, 101);
    assert.equal(events.correlate(event('a')), undefined);
  });

  it('are remembered for a limited number of objects: the one seen least recently is forgotten', () => {
    const events = new EventCorrelation(new ManualClock());
    const of = (uid: number) => events.correlate(event('a', { about: { ...about, uid: String(uid) } }))?.count;
    for (let uid = 0; uid < limits.eventSeriesMax; uid++) of(uid);
    assert.equal(of(0), 2);
    assert.equal(of(limits.eventSeriesMax), 1);
    assert.equal(of(1), 1, 'was forgotten');
    assert.equal(of(0), 3, 'was used after it');
  });

  for (const [what, text] of [
    ['ASCII', 'x'.repeat(5_000)],
    ['long characters', '😀'.repeat(2_000)],
  ] as const) {
    it(`have messages of limited length: ${what}`, () => {
      const { message = '' } = new EventCorrelation(new ManualClock()).correlate(event(text)) ?? {};
      assert.ok(Buffer.byteLength(message) <= limits.eventMessageBytesMax);
      assert.ok(Buffer.byteLength(message) > limits.eventMessageBytesMax - 4);
      assert.doesNotMatch(message, /\uFFFD/);
      assert.match(message, /[^.]\.\.\.$/);
    });
  }
});
