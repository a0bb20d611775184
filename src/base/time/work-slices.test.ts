import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkSlices } from './work-slices.ts';

test('yields after the configured number of steps, and not before', async () => {
  const slices = new WorkSlices(10);
  let othersRan = 0;
  const others = (): void => {
    othersRan++;
    if (othersRan < 100) setImmediate(others);
  };
  setImmediate(others);
  const seen: number[] = [];
  for (let step = 0; step < 40; step++) {
    await slices.step();
    seen.push(othersRan);
  }
  assert.deepEqual(seen.slice(0, 9), Array(9).fill(0), 'the steps of one slice run together');
  assert.ok(new Set(seen).size >= 4, `others ran at ${[...new Set(seen)].join(', ')} of 40 steps`);
});

test('work that shares the slices does not go on while one of it waits', async () => {
  const slices = new WorkSlices(10);
  let inThisTurn = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    for (let step = 0; step < 100; step++) {
      await slices.step();
      if (inThisTurn++ === 0) {
        setImmediate(() => {
          inThisTurn = 0;
        });
      }
      most = Math.max(most, inThisTurn);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  assert.ok(most <= 20, `${most} steps in one turn`);
});
