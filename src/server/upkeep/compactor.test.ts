import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { silentLogger } from '../../base/logger.ts';
import { ManualClock } from '../../base/time/clock.ts';
import type { Revision, Store } from '../../store/store.ts';
import { Compactor, type CompactorOptions } from './compactor.ts';

const windowMs = 5 * 60_000;
const step = windowMs / 5;
const bytesMax = 1_600;

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
  compactor = new Compactor({ store, clock, logger, windowMs, bytesMax });
});
afterEach(() => compactor.close());

/** Advances one step and waits for everything that follows. */
async function tick(): Promise<void> {
  clock.advance(step);
  await new Promise((resolve) => setImmediate(resolve));
}

/** Advances several steps; the head grows by 10 before each. */
async function work(steps: number): Promise<void> {
  for (let done = 0; done < steps; done++) {
    head = Number(head) + 10;
    await tick();
  }
}

test('of servers that share a store one compacts, and marks that another had the turn for are over', async () => {
  compactor.close();
  const turns = [false, true, false, true];
  const asked: Revision[] = [];
  const store = {
    head: async () => Number(head),
    compact: async (upTo: Revision) => void compacted.push(upTo),
    takeCompactionTurn: async (upTo: Revision) => {
      asked.push(upTo);
      return turns.shift() ?? false;
    },
  };
  compactor = new Compactor({ store, clock, logger: silentLogger, windowMs, bytesMax });
  await work(9);
  assert.deepEqual(asked, [11, 21, 31, 41]);
  assert.deepEqual(compacted, [21, 41]);
});

test('a server that is not to compact never does, however much history there is', async () => {
  compactor.close();
  const store = { head: async () => Number(head), compact: async (upTo: Revision) => void compacted.push(upTo) };
  compactor = new Compactor({ store, clock, logger: silentLogger, windowMs: 0, bytesMax });
  assert.equal(clock.pending, 0);
  for (let round = 0; round < 5; round++) compactor.historyGrew(bytesMax, 10 * round);
  await work(10);
  assert.deepEqual(compacted, []);
});

describe('history', () => {
  test('is kept for the window, counted from the start', async () => {
    await work(5);
    assert.deepEqual(compacted, [], 'the first head was seen a step after the start');
    await work(1);
    assert.deepEqual(compacted, [11], 'what was the head then');
    await work(2);
    assert.deepEqual(compacted, [11, 21, 31], 'a step at a time');
  });

  test('of an idle store is compacted up to its head, and no further', async () => {
    for (let done = 0; done < 30; done++) await tick();
    assert.deepEqual([...new Set(compacted)], [1]);
  });

  test('that ages all at once is compacted in one step', async () => {
    await work(3);
    const failure = new Error('store: unavailable');
    const last = head;
    head = failure;
    for (let done = 0; done < 10; done++) await tick();
    assert.deepEqual(compacted, []);
    assert.equal(warned.length, 1, 'the same each time');
    head = last;
    await tick();
    assert.deepEqual(compacted, [31]);
  });

  test('that could not be compacted is retried', async () => {
    compactFails = new Error('store: unavailable');
    await work(7);
    assert.deepEqual(compacted, []);
    assert.deepEqual(new Set(warned), new Set(['history could not be compacted']));
    compactFails = undefined;
    await work(1);
    assert.deepEqual(compacted, [31]);
  });
});

describe('history by its bytes', () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  let early = 0;

  const compactorOf = (historySize: Store['historySize']): void => {
    compactor.close();
    early = 0;
    const store: CompactorOptions['store'] = {
      head: async () => 1_000,
      compact: async (upTo) => {
        if (compactFails) throw compactFails;
        compacted.push(upTo);
      },
      ...(historySize && { historySize }),
    };
    const logger = { ...silentLogger, warn: (message: string) => void warned.push(message) };
    const earlyCompactions = { inc: () => void early++ };
    compactor = new Compactor({ store, clock, logger, windowMs, bytesMax, earlyCompactions });
    void compactor.measure(1_000);
  };

  test('is compacted from its old end as soon as it exceeds the limit', async () => {
    compactorOf(undefined);
    for (let revision = 1_001; revision <= 1_016; revision++) compactor.historyGrew(100, revision);
    await turn();
    assert.deepEqual([compacted, compactor.historyBytes, early], [[], 1_600, 0]);
    compactor.historyGrew(100, 1_017);
    await turn();
    assert.deepEqual([compacted, compactor.historyBytes, early], [[1_005], 1_200, 1]);
  });

  test('stays within its limit under endless writes, and still ages', async () => {
    compactorOf(undefined);
    for (let revision = 1_001; revision <= 3_000; revision++) {
      compactor.historyGrew(90, revision);
      await turn();
      assert.ok(compactor.historyBytes <= bytesMax);
    }
    assert.ok(compacted.length < 2_000 / 3, 'not for every write');
    for (let steps = 0; steps < 7; steps++) await tick();
    assert.equal(compacted.at(-1), 3_000 - ((3_000 - 1_000) % 2), 'what was there at the last mark');
    assert.ok(compactor.historyBytes < 200);
  });

  test('counts what existed at the start, which is compacted first', async () => {
    compactorOf(async () => 1_500);
    await turn();
    assert.equal(compactor.historyBytes, 1_500);
    compactor.historyGrew(100, 1_001);
    await turn();
    assert.deepEqual(compacted, []);
    compactor.historyGrew(10, 1_002);
    await turn();
    assert.deepEqual([compacted, compactor.historyBytes], [[1_001], 10]);
  });

  test('that exceeds the limit at the start is compacted at once', async () => {
    compactorOf(async () => bytesMax + 1);
    await turn();
    assert.deepEqual([compacted, compactor.historyBytes], [[1_000], 0]);
  });

  test('that cannot be measured counts from the start', async () => {
    compactorOf(async () => {
      throw new Error('store: unavailable');
    });
    await turn();
    assert.deepEqual([warned, compactor.historyBytes], [['history could not be measured'], 0]);
  });

  test('that could not be compacted is retried when it has grown', async () => {
    compactorOf(undefined);
    compactFails = new Error('store: unavailable');
    for (let revision = 1_001; revision <= 1_020; revision++) {
      compactor.historyGrew(100, revision);
      await turn();
    }
    assert.equal(compactor.historyBytes, 2_000);
    assert.deepEqual(new Set(warned), new Set(['history could not be compacted']));
    compactFails = undefined;
    compactor.historyGrew(100, 1_021);
    await turn();
    assert.ok(compactor.historyBytes <= bytesMax);
  });
});

describe('a compactor that was closed', () => {
  test('leaves no timer', async () => {
    await work(2);
    assert.equal(clock.pending, 1);
    compactor.close();
    assert.equal(clock.pending, 0);
  });

  test('stops work in progress, and logs nothing', async () => {
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
