import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { silentLogger } from '../base/logger.ts';
import type { Revision, Store } from '../store/store.ts';
import { Compactor } from './compactor.ts';

const windowMs = 5 * 60_000;
const step = windowMs / 5;

let clock: ManualClock;
let head: Revision | Error;
let compacted: Revision[];
let compactFails: Error | undefined;
let warned: string[];
let compactor: Compactor;
beforeEach(() => {
  clock = new ManualClock();
  head = 1;
  compacted = [];
  compactFails = undefined;
  warned = [];
  const store: Pick<Store, 'head' | 'compact'> = {
    async head() {
      if (head instanceof Error) throw head;
      return head;
    },
    async compact(upTo) {
      if (compactFails) throw compactFails;
      compacted.push(upTo);
    },
  };
  const logger = { ...silentLogger, warn: (message: string) => void warned.push(message) };
  compactor = new Compactor({ store: store as Store, clock, logger, windowMs });
});
afterEach(() => compactor.close());

/** One step of time, and all that follows from it. */
async function tick(): Promise<void> {
  clock.advance(step);
  await new Promise((resolve) => setImmediate(resolve));
}

/** Steps of time; the head grows by 10 before each. */
async function work(steps: number): Promise<void> {
  for (let done = 0; done < steps; done++) {
    head = Number(head) + 10;
    await tick();
  }
}

describe('history', () => {
  test('is kept for the window, counted from the start', async () => {
    await work(5);
    assert.deepEqual(compacted, [], 'the first head was seen a step after the start');
    await work(1);
    assert.deepEqual(compacted, [11], 'what was the head then');
    await work(2);
    assert.deepEqual(compacted, [11, 21, 31], 'a step at a time');
  });

  test('of a store that nobody writes to is forgotten up to its head, and no further', async () => {
    for (let done = 0; done < 30; done++) await tick();
    assert.deepEqual([...new Set(compacted)], [1]);
  });

  test('that became old all at once is forgotten at once, up to the newest of it', async () => {
    await work(3);
    const failure = new Error('store: unavailable');
    const last = head;
    head = failure;
    for (let done = 0; done < 10; done++) await tick();
    assert.deepEqual(compacted, []);
    assert.equal(warned.length, 10);
    head = last;
    await tick();
    assert.deepEqual(compacted, [31]);
  });

  test('that could not be forgotten is tried again', async () => {
    compactFails = new Error('store: unavailable');
    await work(7);
    assert.deepEqual(compacted, []);
    assert.deepEqual(new Set(warned), new Set(['history could not be compacted']));
    compactFails = undefined;
    await work(1);
    assert.deepEqual(compacted, [31]);
  });
});

describe('a compactor that was closed', () => {
  test('leaves no timer', async () => {
    await work(2);
    assert.equal(clock.pending, 1);
    compactor.close();
    assert.equal(clock.pending, 0);
  });

  test('finishes nothing that it had begun, and complains of nothing', async () => {
    await work(5);
    clock.advance(step);
    compactor.close();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(compacted, []);
    head = new Error('closed');
    assert.deepEqual(warned, []);
    assert.equal(clock.pending, 0);
  });
});
