import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTime, readSchedule } from './cron-schedule.ts';

const number = (text: string): string => `failed to parse int from ${text}: strconv.Atoi: parsing "${text}"`;

const problems: readonly (readonly [schedule: string, problem: string])[] = [
  ['', 'empty spec string'],
  ['error', 'expected exactly 5 fields, found 1: [error]'],
  ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
  ['* *  * * * *', 'expected exactly 5 fields, found 6: [* * * * * *]'],
  ['xyz 0 * * *', `${number('xyz')}: invalid syntax`],
  ['5 j * * *', `${number('j')}: invalid syntax`],
  ['jan * * * *', `${number('jan')}: invalid syntax`],
  ['0 0 * * XYZ', `${number('XYZ')}: invalid syntax`],
  ['2-x * * * *', `${number('x')}: invalid syntax`],
  ['- * * * *', `${number('')}: invalid syntax`],
  ['99999999999999999999 * * * *', `${number('99999999999999999999')}: value out of range`],
  ['*/-12 * * * *', 'negative number (-12) not allowed: -12'],
  ['5--5 * * * *', 'too many hyphens: 5--5'],
  ['*//2 * * * *', 'too many slashes: *//2'],
  ['*/0 * * * *', 'step of range should be a positive number: */0'],
  ['TZ=America/New_York 15/0 * * * *', 'step of range should be a positive number: 15/0'],
  ['60 0 * * *', 'end of range (60) above maximum (59): 60'],
  ['0 60 * * *', 'end of range (60) above maximum (23): 60'],
  ['0 0 0 * *', 'beginning of range (0) below minimum (1): 0'],
  ['5-3 * * * *', 'beginning of range (5) beyond end of range (3): 5-3'],
  ['@unrecognized', 'unrecognized descriptor: @unrecognized'],
  ['@constructor', 'unrecognized descriptor: @constructor'],
  [' @daily', 'expected exactly 5 fields, found 1: [@daily]'],
  ['@every Xm', 'failed to parse duration @every Xm: time: invalid duration "Xm"'],
  ['@every 5', 'failed to parse duration @every 5: time: missing unit in duration "5"'],
  ['@every 5m5x', 'failed to parse duration @every 5m5x: time: unknown unit "x" in duration "5m5x"'],
  ['@every ', 'failed to parse duration @every : time: invalid duration ""'],
  ['@every 9999999999h', 'failed to parse duration @every 9999999999h: time: invalid duration "9999999999h"'],
  ['TZ=Not/There * * * * *', 'provided bad location Not/There: unknown time zone Not/There'],
  ['TZ=utc * * * * *', 'provided bad location utc: unknown time zone utc'],
  ['CRON_TZ=../etc * * * * *', 'provided bad location ../etc: time: invalid location name'],
  ['TZ=UTC', 'expected exactly 5 fields, found 0: []'],
];

for (const [schedule, problem] of problems) {
  test(`schedule ${JSON.stringify(schedule)}: ${problem}`, () => assert.deepEqual(readSchedule(schedule), { problem }));
}

/** Time as the library's tests write it: `2012-07-09 14:45` is in UTC. */
const timeOf = (text: string): number => Date.parse(text.includes('T') ? text : `${text.replace(' ', 'T')}Z`);

function next(schedule: string, after: string, zone?: string): string {
  const read = readSchedule(schedule);
  assert.ok('schedule' in read, JSON.stringify(read));
  const found = nextTime(read.schedule, timeOf(after), zone);
  return found === undefined ? 'never' : new Date(found).toISOString();
}

const times: readonly (readonly [after: string, schedule: string, expected: string])[] = [
  ['2012-07-09 14:45', '0/15 * * * *', '2012-07-09 15:00'],
  ['2012-07-09 14:59', '0/15 * * * *', '2012-07-09 15:00'],
  ['2012-07-09 14:59:59.999', '0/15 * * * *', '2012-07-09 15:00'],
  ['2012-07-09 15:00:00.001', '0/15 * * * *', '2012-07-09 15:15'],
  ['2012-07-09 15:45', '20-35/15 * * * *', '2012-07-09 16:20'],
  ['2012-07-09 23:46', '*/15 * * * *', '2012-07-10 00:00'],
  ['2012-07-09 23:45', '20-35/15 * * * *', '2012-07-10 00:20'],
  ['2012-07-09 23:35:51', '20-35/15 1/2 * * *', '2012-07-10 01:20'],
  ['2012-07-09 23:35:51', '20-35/15 10-12 * * *', '2012-07-10 10:20'],
  ['2012-07-09 23:35:51', '20-35/15 1/2 */2 * *', '2012-07-11 01:20'],
  ['2012-07-09 23:35:51', '20-35/15 * 9-20 Jul *', '2012-07-10 00:20'],
  ['2012-07-09 23:35', '0 0 9 Apr-Oct ?', '2012-08-09 00:00'],
  ['2012-07-09 23:35', '0 0 */5 Apr,Aug,Oct Mon', '2012-08-01 00:00'],
  ['2012-07-09 23:35', '0 0 */5 Oct Mon', '2012-10-01 00:00'],
  ['2012-07-09 23:35', '0 0 * Feb Mon', '2013-02-04 00:00'],
  ['2012-07-09 23:35', '0 0 * Feb Mon/2', '2013-02-01 00:00'],
  ['2012-12-31 23:59:45', '* * * * *', '2013-01-01 00:00'],
  ['2012-07-09 23:35', '0 0 29 Feb ?', '2016-02-29 00:00'],
  ['2012-07-09 23:35', '0 0 30 Feb ?', 'never'],
  ['2012-07-09 23:35', '0 0 31 Apr ?', 'never'],
  ['2012-07-09 23:35', ', * * * *', 'never'],
  ['2012-07-09 15:04', '@hourly', '2012-07-09 16:00'],
  ['2012-07-09 15:04', '@daily', '2012-07-10 00:00'],
  ['2012-07-09 15:04', '@midnight', '2012-07-10 00:00'],
  ['2012-07-09 15:04', '@weekly', '2012-07-15 00:00'],
  ['2012-07-09 15:04', '@monthly', '2012-08-01 00:00'],
  ['2012-07-09 15:04', '@yearly', '2013-01-01 00:00'],
  ['2012-07-09 15:04', '@annually', '2013-01-01 00:00'],
  ['2012-07-09 15:04', 'TZ=Asia/Tokyo  @midnight', '2012-07-10 15:00'],
  ['2012-07-14 23:59', '* * 1,15 * Sun', '2012-07-15 00:00'],
  ['2012-06-14 23:59', '* * 1,15 * Sun', '2012-06-15 00:00'],
  ['2012-07-09 00:00', '* * 1,15 * *', '2012-07-15 00:00'],
  ['2012-07-15 00:00', '* * * * Mon', '2012-07-16 00:00'],
  ['2012-07-09 14:45', '@every 15m50ns', '2012-07-09 15:00'],
  ['2012-07-09 14:59:59', '@every 15m', '2012-07-09 15:14:59'],
  ['2012-07-09 23:35:51', '@every 25h44m24s', '2012-07-11 01:20:15'],
  ['2012-07-09 14:45:00', '@every 15ms', '2012-07-09 14:45:01'],
  ['2012-07-09 14:45:00', '@every -5h', '2012-07-09 14:45:01'],
  ['2012-07-09 14:45:00.005', '@every 15m', '2012-07-09 15:00'],
];

for (const [after, schedule, expected] of times) {
  test(`schedule ${schedule}: after ${after} comes ${expected}`, () => {
    assert.equal(next(schedule, after), expected === 'never' ? expected : new Date(timeOf(expected)).toISOString());
  });
}

/** Transitions of zones: the clock is put forward, and back. */
const transitions: readonly (readonly [zone: string, after: string, schedule: string, expected: string])[] = [
  ['America/New_York', '2012-03-11T00:00:00-05:00', '30 2 11 Mar ?', '2013-03-11T02:30:00-04:00'],
  ['America/New_York', '2012-03-11T00:00:00-05:00', '0 * * * ?', '2012-03-11T01:00:00-05:00'],
  ['America/New_York', '2012-03-11T01:00:00-05:00', '0 * * * ?', '2012-03-11T03:00:00-04:00'],
  ['America/New_York', '2012-03-11T03:00:00-04:00', '0 * * * ?', '2012-03-11T04:00:00-04:00'],
  ['America/New_York', '2012-03-11T00:00:00-05:00', '0 1 * * ?', '2012-03-11T01:00:00-05:00'],
  ['America/New_York', '2012-03-11T01:00:00-05:00', '0 1 * * ?', '2012-03-12T01:00:00-04:00'],
  ['America/New_York', '2012-03-11T00:00:00-05:00', '0 2 * * ?', '2012-03-12T02:00:00-04:00'],
  ['America/New_York', '2012-11-04T00:00:00-04:00', '30 2 04 Nov ?', '2012-11-04T02:30:00-05:00'],
  ['America/New_York', '2012-11-04T01:45:00-04:00', '30 1 04 Nov ?', '2012-11-04T01:30:00-05:00'],
  ['America/New_York', '2012-11-04T00:00:00-04:00', '0 * * * ?', '2012-11-04T01:00:00-04:00'],
  ['America/New_York', '2012-11-04T01:00:00-04:00', '0 * * * ?', '2012-11-04T01:00:00-05:00'],
  ['America/New_York', '2012-11-04T01:00:00-05:00', '0 * * * ?', '2012-11-04T02:00:00-05:00'],
  ['America/New_York', '2012-11-04T00:00:00-04:00', '0 1 * * ?', '2012-11-04T01:00:00-04:00'],
  ['America/New_York', '2012-11-04T01:00:00-04:00', '0 1 * * ?', '2012-11-04T01:00:00-05:00'],
  ['America/New_York', '2012-11-04T01:00:00-05:00', '0 1 * * ?', '2012-11-05T01:00:00-05:00'],
  ['America/New_York', '2012-11-04T00:00:00-04:00', '0 2 * * ?', '2012-11-04T02:00:00-05:00'],
  ['America/New_York', '2012-11-04T02:00:00-05:00', '0 2 * * ?', '2012-11-05T02:00:00-05:00'],
  ['America/New_York', '2012-11-04T03:00:00-05:00', '0 3 * * ?', '2012-11-05T03:00:00-05:00'],
  ['America/New_York', '2012-11-04T00:00:00-04:00', '0 3 3 * ?', '2012-12-03T03:00:00-05:00'],
  ['America/Sao_Paulo', '2018-10-17T05:00:00-04:00', '0 9 10 * ?', '2018-11-10T06:00:00-05:00'],
  ['America/Sao_Paulo', '2018-02-14T05:00:00-05:00', '0 9 22 * ?', '2018-02-22T07:00:00-05:00'],
  ['Asia/Kolkata', '2016-01-03T13:09:03+05:30', '14 14 * * *', '2016-01-03T14:14:00+05:30'],
  ['Asia/Kolkata', '2016-01-03T04:09:03+05:30', '14 14 * * ?', '2016-01-03T14:14:00+05:30'],
];

for (const [zone, after, schedule, expected] of transitions) {
  test(`schedule ${schedule} in ${zone}: after ${after} comes ${expected}`, () => {
    const time = new Date(expected).toISOString();
    assert.equal(next(schedule, after, zone), time);
    assert.equal(next(`TZ=${zone} ${schedule}`, after), time, 'the zone in the schedule');
    assert.equal(
      next(`CRON_TZ=${zone} ${schedule}`, after, 'Asia/Tokyo'),
      time,
      'the zone in the schedule counts first',
    );
  });
}
