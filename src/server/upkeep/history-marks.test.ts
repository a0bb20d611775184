import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../base/time/clock.ts';
import { HistoryMarks } from './history-marks.ts';

test('the age of a revision counts from its first observation, and each mark is returned once', () => {
  const clock = new ManualClock();
  const ages = new HistoryMarks(clock);
  const told: (number | undefined)[] = [];
  for (const revision of [5, 9, 9, 12, 12, 12, 12, 12, 12, 12, 12]) {
    ages.record(revision);
    told.push(ages.takeOlderThan(60)?.revision);
    clock.advance(10);
  }
  assert.deepEqual(told, [...Array(6), 5, 9, undefined, 12, undefined]);
});

test('of many that reach the age at once the newest is returned', () => {
  const clock = new ManualClock();
  const ages = new HistoryMarks(clock);
  for (const revision of [1, 2, 3]) ages.record(revision);
  clock.advance(1_000);
  ages.record(4);
  assert.equal(ages.takeOlderThan(1_000)?.revision, 3);
  assert.equal(ages.takeOlderThan(1_000), undefined);
});

test('history is taken from its old end, as much as requested', () => {
  const marks = new HistoryMarks(new ManualClock());
  for (const revision of [1, 2, 3, 4]) marks.record(revision, revision * 100);
  assert.deepEqual(marks.takeAt(150)?.revision, 2);
  assert.equal(marks.takeAt(150)?.revision, 3);
  marks.record(5, 500);
  assert.equal(marks.takeAt(1_000)?.bytes, 500);
  assert.equal(marks.takeAt(0), undefined);
  marks.record(6, 600);
  assert.equal(marks.takeAt(0)?.revision, 6);
});
