import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTimeZone, zoneOffsetMs } from './time-zone.ts';

test('time zones: names of the database, in its letters', () => {
  const known = [
    'UTC',
    'Etc/UTC',
    'Europe/Rome',
    'Asia/Kolkata',
    'Asia/Calcutta',
    'US/Eastern',
    'EST5EDT',
    'Etc/GMT+5',
  ];
  const further = ['GMT', 'Zulu', 'America/Argentina/Buenos_Aires', 'Etc/GMT-14', 'Europe/Kyiv', 'Europe/Kiev', 'W-SU'];
  for (const name of [...known, ...further]) assert.equal(isTimeZone(name), true, name);
  const unknown = [
    '',
    'utc',
    'europe/rome',
    'Europe/Nowhere',
    'Europe',
    'PST',
    'ACT',
    'SystemV/EST5',
    '+01:00',
    'Local',
  ];
  for (const name of unknown) assert.equal(isTimeZone(name), false, name);
});

test('time zones: what they add to UTC', () => {
  const [winter, summer] = [Date.UTC(2024, 0, 10), Date.UTC(2024, 6, 10)];
  const hour = 3600_000;
  assert.deepEqual([zoneOffsetMs('Europe/Rome', winter), zoneOffsetMs('Europe/Rome', summer)], [hour, 2 * hour]);
  assert.deepEqual([zoneOffsetMs('Asia/Kathmandu', winter), zoneOffsetMs('UTC', winter)], [5.75 * hour, 0]);
  assert.equal(zoneOffsetMs('Europe/Nowhere', winter), undefined);
});
