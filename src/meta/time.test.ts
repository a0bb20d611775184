import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalTime, formatMicroTime, formatTime, humanDuration, parseTime } from './time.ts';

test('times are put in canonical form', () => {
  for (const [text, second, micro] of [
    ['2006-01-02T15:04:05Z', '2006-01-02T15:04:05Z', '2006-01-02T15:04:05.000000Z'],
    ['2006-01-02T15:04:05.123456789Z', '2006-01-02T15:04:05Z', '2006-01-02T15:04:05.123456Z'],
    ['2006-01-02T15:04:05.9Z', '2006-01-02T15:04:05Z', '2006-01-02T15:04:05.900000Z'],
    ['2006-01-02T15:04:05+02:00', '2006-01-02T13:04:05Z', '2006-01-02T13:04:05.000000Z'],
    ['2006-01-01T00:30:00+01:30', '2005-12-31T23:00:00Z', '2005-12-31T23:00:00.000000Z'],
    ['2006-12-31T23:59:59-00:01', '2007-01-01T00:00:59Z', '2007-01-01T00:00:59.000000Z'],
    ['1969-12-31T23:59:59.999999Z', '1969-12-31T23:59:59Z', '1969-12-31T23:59:59.999999Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000000Z'],
  ] as const) {
    assert.equal(canonicalTime(text, 'second'), second);
    assert.equal(canonicalTime(text, 'micro'), micro);
  }
});

test('invalid RFC 3339 times are rejected', () => {
  for (const text of [
    '',
    'yesterday',
    '2006-01-02',
    '2006-01-02 15:04:05Z',
    '2006-01-02t15:04:05Z',
    '2006-01-02T15:04:05',
    '2006-01-02T15:04:05z',
    '2006-01-02T15:04Z',
    '2006-1-2T15:04:05Z',
    '2006-13-02T15:04:05Z',
    '2006-00-02T15:04:05Z',
    '2006-02-29T15:04:05Z',
    '1900-02-29T15:04:05Z',
    '2006-04-31T15:04:05Z',
    '2006-01-00T15:04:05Z',
    '2006-01-02T24:00:00Z',
    '2006-01-02T15:60:05Z',
    '2006-01-02T15:04:60Z',
    '2006-01-02T15:04:05+24:00',
    '2006-01-02T15:04:05+0100',
    '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '2006-01-02T15:04:05Z\n',
    '12006-01-02T15:04:05Z',
  ]) {
    assert.equal(canonicalTime(text, 'second'), undefined, text);
  }
});

test('milliseconds go to text and back', () => {
  const ms = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  assert.equal(formatTime(ms), '2026-01-02T03:04:05Z');
  assert.equal(formatMicroTime(ms), '2026-01-02T03:04:05.678000Z');
  assert.equal(formatMicroTime(ms + 0.25), '2026-01-02T03:04:05.678250Z');
  assert.equal(formatTime(-1), '1969-12-31T23:59:59Z');
  assert.equal(parseTime(formatMicroTime(ms)), ms);
  assert.equal(parseTime('2026-01-02T04:04:05+01:00'), ms - 678);
  assert.equal(parseTime('never'), undefined);
});

test('durations are short', () => {
  const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];
  for (const [ms, text] of [
    [-2 * second, '<invalid>'],
    [-1.5 * second, '0s'],
    [Number.NaN, '<invalid>'],
    [0, '0s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [3 * minute + 20 * second, '3m20s'],
    [10 * minute + 20 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 59 * minute, '7h59m'],
    [8 * hour + 59 * minute, '8h'],
    [47 * hour, '47h'],
    [2 * day, '2d'],
    [2 * day + 4 * hour, '2d4h'],
    [8 * day + 4 * hour, '8d'],
    [729 * day, '729d'],
    [730 * day, '2y'],
    [3 * 365 * day + 40 * day, '3y40d'],
    [8 * 365 * day + 40 * day, '8y'],
  ] as const) {
    assert.equal(humanDuration(ms), text);
  }
});
