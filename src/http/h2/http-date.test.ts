import assert from 'node:assert/strict';
import { test } from 'node:test';
import { httpDate } from './http-date.ts';

test('dates are formatted once per second', () => {
  const times = [0, 999, 1_000, Date.UTC(2026, 10, 22, 9, 5, 7, 500), 1_000];
  assert.deepEqual(times.map(httpDate), [
    'Thu, 01 Jan 1970 00:00:00 GMT',
    'Thu, 01 Jan 1970 00:00:00 GMT',
    'Thu, 01 Jan 1970 00:00:01 GMT',
    'Sun, 22 Nov 2026 09:05:07 GMT',
    'Thu, 01 Jan 1970 00:00:01 GMT',
  ]);
});
