import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { beat, Heartbeats } from './heartbeat.ts';

const silenceMsMax = 10 * limits.threadBeatMs;

/** The looks, from 1, at which a thread is found silent that has beaten before some of them. */
function foundAt(looks: number, beats: (look: number) => boolean): readonly number[] {
  const heartbeats = new Heartbeats(2);
  const counts = new Int32Array(heartbeats.memory);
  const found: number[] = [];
  for (let look = 1; look <= looks; look++) {
    if (beats(look)) Atomics.add(counts, 1, 1);
    if (heartbeats.fallsSilent(1, silenceMsMax)) found.push(look);
  }
  return found;
}

for (const [name, beats, found] of [
  ['that beats is not silent', () => true, []],
  ['that beats rarely is not silent', (look: number) => look % 10 === 0, []],
  ['that stands still is found once', (look: number) => look === 1, [11]],
  ['that never beat is found', () => false, [10]],
  ['that went on is found again', (look: number) => look === 1 || look === 12, [11, 22]],
] as const) {
  test(`a thread ${name}`, () => assert.deepEqual(foundAt(30, beats), found));
}

test('a thread beats once for each look, and one that has its number anew gets all of the time', () => {
  const clock = new ManualClock();
  const heartbeats = new Heartbeats(1);
  beat({ beats: heartbeats.memory, number: 0 }, clock);
  assert.equal(clock.pending, 1);
  for (let look = 0; look < 30; look++) {
    clock.advance(limits.threadBeatMs);
    assert.equal(heartbeats.fallsSilent(0, limits.threadBeatMs), false);
  }
  for (let look = 1; look < 10; look++) assert.equal(heartbeats.fallsSilent(0, silenceMsMax), false);
  heartbeats.restart(0);
  for (let look = 1; look < 10; look++) assert.equal(heartbeats.fallsSilent(0, silenceMsMax), false);
  assert.equal(heartbeats.fallsSilent(0, silenceMsMax), true);
});
