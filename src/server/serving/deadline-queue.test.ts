import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { ManualClock } from '../../base/time/clock.ts';
import { DeadlineQueue } from './deadline-queue.ts';

let clock: ManualClock;
let expired: string[];
let queue: DeadlineQueue<string>;
beforeEach(() => {
  clock = new ManualClock();
  expired = [];
  queue = new DeadlineQueue({
    clock,
    afterMs: 60_000,
    expire: (item) => expired.push(`${item} at ${clock.monotonic()}`),
  });
});

test('items expire within a second of their deadline, oldest first', () => {
  queue.add('a');
  clock.advance(500);
  queue.add('b');
  clock.advance(59_400);
  assert.deepEqual(expired, []);
  clock.advance(1_100);
  assert.deepEqual(expired, ['a at 60000', 'b at 61000']);
  clock.advance(120_000);
  assert.equal(expired.length, 2);
});

test('removed items do not expire', () => {
  queue.add('a');
  queue.add('b');
  queue.remove('a');
  queue.remove('never added');
  clock.advance(61_000);
  assert.deepEqual(expired, ['b at 60000']);
});

test('one timer serves all items, and none runs for an empty queue', () => {
  assert.equal(clock.pending, 0);
  for (let item = 0; item < 100; item++) queue.add(String(item));
  assert.equal(clock.pending, 1);
  for (let item = 0; item < 100; item++) queue.remove(String(item));
  clock.advance(1_000);
  assert.equal(clock.pending, 0);
  queue.add('later');
  assert.equal(clock.pending, 1, 'it begins again');
  clock.advance(60_000);
  assert.deepEqual(expired, ['later at 61000']);
});

test('expiry callbacks may add and remove items', () => {
  const seen: string[] = [];
  const own = new DeadlineQueue<string>({
    clock,
    afterMs: 10_000,
    expire(item) {
      seen.push(item);
      own.remove('b');
      if (item === 'a') own.add('c');
    },
  });
  own.add('a');
  own.add('b');
  clock.advance(10_000);
  assert.deepEqual(seen, ['a']);
  clock.advance(10_000);
  assert.deepEqual(seen, ['a', 'c']);
  assert.equal(clock.pending, 0);
});

test('closing drops all items and the timer', () => {
  queue.add('a');
  queue.close();
  queue.close();
  assert.equal(clock.pending, 0);
  clock.advance(120_000);
  assert.deepEqual(expired, []);
});
