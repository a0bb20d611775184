import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { FinishedStreams } from './finished-streams.ts';

function finished() {
  const clock = new ManualClock();
  const resets: number[] = [];
  const streams = new FinishedStreams({ clock, lingeringMax: 3, reset: (id) => void resets.push(id) });
  return { clock, resets, streams };
}

test('lingering streams are reset one by one when due', () => {
  const { clock, resets, streams } = finished();
  streams.linger(1);
  clock.advance(400);
  streams.linger(3);
  streams.linger(5);
  streams.ended(5);
  clock.advance(limits.lingerMs - 400);
  assert.deepEqual(resets, [1]);
  clock.advance(400);
  assert.deepEqual(resets, [1, 3]);
  assert.deepEqual([clock.pending, streams.has(1), streams.has(3), streams.has(5)], [0, true, true, false]);
});

test('the oldest are reset when many linger', () => {
  const { resets, streams } = finished();
  for (const id of [1, 3, 5, 7, 9]) streams.linger(id);
  assert.deepEqual(resets, [1, 3]);
  streams.close();
});

test('the oldest are evicted when many were reset', () => {
  const { clock, streams } = finished();
  for (let n = 0; n <= limits.finishedStreamsMax; n += 1) streams.add(2 * n + 1);
  assert.deepEqual([streams.has(1), streams.has(3)], [false, true]);
  streams.linger(100_001);
  streams.close();
  assert.equal(clock.pending, 0);
});
