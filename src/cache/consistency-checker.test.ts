import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { limits } from '../base/limits.ts';
import type { Random } from '../base/random.ts';
import { noJitter } from '../base/time/backoff-fixture.ts';
import { until } from '../base/waits-fixture.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import { isStoreError, StoreError } from '../store/store.ts';
import {
  configMap,
  configMaps,
  FaultyStore,
  keyOf,
  openCache,
  RecordingCounter,
  RecordingWatch,
} from './cache-fixture.ts';
import { ConsistencyChecker } from './consistency-checker.ts';

async function openChecked(context: TestContext, store = openMemoryStore(), random: Random = noJitter) {
  for (let index = 0; index < 20; index++) await store.create(keyOf(`n${10 + index}`), configMap(`n${10 + index}`));
  const opened = await openCache(context, { store });
  const mismatches = new RecordingCounter();
  const { cache, clock, log } = opened;
  const checker = new ConsistencyChecker({ cache, store, clock, random, logger: log, metrics: { mismatches } });
  context.after(() => checker.close());
  return { ...opened, checker, mismatches };
}

test('a consistent cache has no mismatches while writes continue', async (context) => {
  const { checker, store, cache, mismatches, log } = await openChecked(context);
  await store.create(keyOf('bad'), Buffer.from('junk'));
  await cache.fresh();
  const checks = Promise.all([checker.check(), checker.check()]);
  for (let index = 0; index < 20; index++) {
    const there = await store.get(keyOf(`n${10 + index}`));
    assert.ok(there);
    if (index % 2 === 0) await store.delete(there.key, there.revision);
    else await store.update(there.key, configMap('other'), there.revision);
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const report of await checks) {
    assert.deepEqual(report.mismatches, []);
    assert.equal(report.compared, 21);
  }
  await cache.fresh();
  assert.deepEqual((await checker.check()).mismatches, []);
  assert.equal(mismatches.count, 0);
  assert.deepEqual(log.lines.map(({ message }) => message).length, 1);
});

/** Stores that show the cache something other than the checker. */
const lies: readonly {
  readonly name: string;
  readonly lie: (store: ReturnType<typeof openMemoryStore>) => void;
  readonly found: readonly string[];
}[] = [
  {
    name: 'a lost change',
    lie: (store) => {
      const { changes } = store;
      store.changes = async function* (from, signal) {
        for await (const batch of changes.call(store, from, signal))
          yield { ...batch, changes: batch.changes.slice(1) };
      };
    },
    found: ['missing a'],
  },
  {
    name: 'a changed value',
    lie: (store) => {
      const { changes } = store;
      store.changes = async function* (from, signal) {
        for await (const batch of changes.call(store, from, signal)) {
          yield {
            ...batch,
            changes: batch.changes.map((change) =>
              change.type === 'create' ? { ...change, value: configMap('a', { data: 'x' }) } : change,
            ),
          };
        }
      };
    },
    found: ['value a'],
  },
  {
    name: 'a value that only the cache cannot read',
    lie: (store) => {
      const { changes } = store;
      store.changes = async function* (from, signal) {
        for await (const batch of changes.call(store, from, signal)) {
          yield {
            ...batch,
            changes: batch.changes.map((change) =>
              change.type === 'create' ? { ...change, value: Buffer.from('junk') } : change,
            ),
          };
        }
      };
    },
    found: ['value a'],
  },
];

for (const { name, lie, found } of lies) {
  test(`${name} is detected and repaired`, async (context) => {
    const store = openMemoryStore();
    lie(store);
    const { checker, cache, mismatches, log, configMaps: collection } = await openChecked(context, store);
    const watch = new RecordingWatch(collection, { after: cache.revision });
    await until(() => cache.watchers === 1);
    const { revision } = await store.create(keyOf('a'), configMap('a'));
    await cache.fresh();
    const report = await checker.check();
    assert.deepEqual(
      report.mismatches.map(({ kind, key }) => `${kind} ${key.slice(keyOf('').length)}`),
      found,
    );
    assert.equal(report.revision, revision);
    assert.equal(mismatches.count, 1);
    assert.ok(log.lines.some(({ fields }) => JSON.stringify(fields)?.includes(keyOf('a'))));
    assert.equal(collection.get(keyOf('a'))?.revision, revision);
    assert.notEqual(watch.closedFor, undefined);
    assert.deepEqual((await checker.check()).mismatches, []);
  });
}

test('surplus keys and different revisions are detected', async (context) => {
  const { checker, store, cache, configMaps: collection } = await openChecked(context);
  const list = store.list.bind(store);
  let lying = true;
  store.list = async (prefix, options) => {
    const page = await list(prefix, options);
    if (!lying || prefix !== configMaps.prefix) return page;
    const [first, second, ...rest] = page.records;
    assert.ok(first && second);
    return { ...page, records: [{ ...second, revision: second.revision + 1 }, ...rest.slice(0, -1)] };
  };
  const check = checker.check();
  await until(() => cache.revision > 0);
  const report = await check;
  lying = false;
  assert.deepEqual(
    report.mismatches.map(({ kind, key }) => `${kind} ${key.slice(keyOf('').length)}`),
    ['surplus n10', 'revision n11', 'surplus n29'],
  );
  await cache.reload(configMaps.prefix);
  assert.equal(collection.snapshot().count(configMaps.prefix), 20);
});

test('a comparison restarts when its revision is compacted, and rejects when the store fails', async (context) => {
  const store = new FaultyStore();
  const { checker } = await openChecked(context, store);
  let failures = 1;
  store.before = (call) => {
    if (call === 'list' && failures-- > 0) throw new StoreError('compacted', 'gone');
  };
  assert.equal((await checker.check()).compared, 20);
  failures = 100;
  await assert.rejects(checker.check(), (error) => isStoreError(error, 'compacted'));
});

test('checks of servers that started together do not run together', async (context) => {
  const random = { ...noJitter, bytes: () => Uint8Array.of(128) };
  const store = new FaultyStore();
  const { checker, clock } = await openChecked(context, store, random);
  let lists = 0;
  store.before = (call) => {
    if (call === 'list') lists++;
  };
  checker.start();
  clock.advance(limits.consistencyCheckMs * 1.1 - 1);
  assert.equal(lists, 0);
  clock.advance(1);
  await until(() => lists > 0);
});

test('checks run periodically until the checker is closed', async (context) => {
  const store = new FaultyStore();
  const { checker, clock, log } = await openChecked(context, store);
  let lists = 0;
  store.before = (call) => {
    if (call !== 'list') return;
    lists++;
    if (lists === 1) throw new StoreError('unavailable', 'no');
  };
  const idle = clock.pending;
  checker.start();
  clock.advance(limits.consistencyCheckMs - 1);
  assert.equal(lists, 0);
  clock.advance(1);
  await until(() => log.lines.some(({ level }) => level === 'warn') && clock.pending > idle);
  clock.advance(limits.consistencyCheckMs);
  await until(() => lists === 3 && clock.pending > idle);
  checker.close();
  assert.equal(clock.pending, idle);
  clock.advance(limits.consistencyCheckMs * 2);
  assert.equal(lists, 3);
});
