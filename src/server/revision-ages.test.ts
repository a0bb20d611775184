import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { RevisionAges } from './revision-ages.ts';

test('a revision is as old as the first time it was seen, and each age is told once', () => {
  const clock = new ManualClock();
  const ages = new RevisionAges(clock);
  const told: (number | undefined)[] = [];
  for (const revision of [5, 9, 9, 12, 12, 12, 12, 12, 12, 12, 12]) {
    ages.see(revision);
    told.push(ages.takeOlderThan(60));
    clock.advance(10);
  }
  assert.deepEqual(told, [...Array(6), 5, 9, undefined, 12, undefined]);
});

test('of many that came to the age at once the newest is told', () => {
  const clock = new ManualClock();
  const ages = new RevisionAges(clock);
  for (const revision of [1, 2, 3]) ages.see(revision);
  clock.advance(1_000);
  ages.see(4);
  assert.equal(ages.takeOlderThan(1_000), 3);
  assert.equal(ages.takeOlderThan(1_000), undefined);
});
