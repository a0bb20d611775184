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
  const place = queue.add('a');
  queue.remove('a', place);
  queue.add('b');
  queue.remove('a', place);
  clock.advance(61_000);
  assert.deepEqual(expired, ['b at 60000']);
  queue.add('c');
  queue.remove('b', place);
  clock.advance(61_000);
  assert.deepEqual(expired.slice(1), ['c at 121000'], 'one that has expired is not removed again');
});

test('one timer serves all items, and none runs for an empty queue', () => {
  assert.equal(clock.pending, 0);
  const places = Array.from({ length: 100 }, (_, item) => queue.add(String(item)));
  assert.equal(clock.pending, 1);
  for (const [item, place] of places.entries()) queue.remove(String(item), place);
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
      own.remove('b', placeOfB);
      if (item === 'a') own.add('c');
    },
  });
  own.add('a');
  const placeOfB = own.add('b');
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
