import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TimeSlice } from './time-slice.ts';
import { inOwnTurn } from './turns.ts';

/** Runs one piece of work in slices, and notes the turn of each. */
async function inSlices(turn: () => number, slices: number): Promise<readonly number[]> {
  const slice = new TimeSlice({ monotonic: () => 0 });
  const turns: number[] = [];
  for (let done = 0; done < slices; done++) {
    await slice.next();
    turns.push(turn());
  }
  return turns;
}

test('slices of many who work at once do not add up: each has a turn of its own, and all go on alike', async () => {
  let turn = 0;
  let counting = true;
  const count = (): void => {
    turn += 1;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const all = await Promise.all(Array.from({ length: 20 }, () => inSlices(() => turn, 5)));
  counting = false;
  const turns = all.flat();
  assert.equal(new Set(turns).size, turns.length, 'two slices ran in one turn');
  for (let round = 1; round < 5; round++) {
    const latestBefore = Math.max(...all.map((each) => each[round - 1] ?? 0));
    const earliest = Math.min(...all.map((each) => each[round] ?? 0));
    assert.ok(earliest > latestBefore, `round ${round} began before all had round ${round - 1}`);
  }
});

test('one who waits for a turn does not hold up those behind by failing', async () => {
  const slice = new TimeSlice({ monotonic: () => 0 });
  const failing = slice.next().then(() => {
    throw new Error('the work failed');
  });
  const behind = slice.next();
  await assert.rejects(failing, /the work failed/);
  await behind;
});

test('work that asks for a turn within its own has the next one', async () => {
  const order: string[] = [];
  await new Promise<void>((resolve) => {
    inOwnTurn(() => {
      order.push('first');
      inOwnTurn(() => {
        order.push('third');
        resolve();
      });
    });
    inOwnTurn(() => order.push('second'));
  });
  assert.deepEqual(order, ['first', 'second', 'third']);
});
