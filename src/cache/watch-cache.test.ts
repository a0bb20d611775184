import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../base/limits.ts';
import { silentLogger } from '../base/logger.ts';
import { noJitter } from '../base/time/backoff-fixture.ts';
import { ManualClock } from '../base/time/clock.ts';
import { until } from '../base/waits-fixture.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import { type Change, isStoreError, StoreError } from '../store/store.ts';
import type { CachedResource, Snapshot } from './cache.ts';
import {
  configMap,
  configMaps,
  FaultyStore,
  keyOf,
  nodes,
  openCache,
  put,
  RecordingCounter,
  RecordingWatch,
  remove,
} from './cache-fixture.ts';
import { type EntryCodec, objectCodec } from './entries/entry-codec.ts';
import { createWatchCache } from './watch-cache.ts';

const names = (snapshot: Snapshot | undefined, prefix = configMaps.prefix): readonly string[] | undefined =>
  snapshot && Array.from(snapshot.entries(prefix), ({ name, revision }) => `${name}@${revision}`);

test('the cache holds the objects of its resources and ignores other keys', async (context) => {
  const store = openMemoryStore();
  await store.create('/leader', Buffer.from('not an object'));
  await put(store, 'b');
  await store.create(`${nodes.prefix}n1`, configMap('n1'));
  await store.create('/core/configmapsx/a', configMap('x'));
  const { cache, configMaps: collection } = await openCache(context, { store });
  await put(store, 'a');
  await store.create('/other/configmaps/x', configMap('x'));
  const revision = await cache.fresh();
  assert.equal(revision, await store.head());
  assert.equal(cache.revision, revision);
  assert.deepEqual(names(collection.snapshot()), ['a@6', 'b@3']);
  assert.deepEqual(names(cache.collection(nodes.prefix).snapshot(), nodes.prefix), ['n1@4']);
  assert.equal(collection.get(keyOf('a'))?.bytes.toString(), collection.snapshot().get(keyOf('a'))?.bytes.toString());
  assert.throws(() => cache.collection('/leader'));
});

test('snapshots are immutable, and past ones are exact', async (context) => {
  const { cache, store, configMaps: collection } = await openCache(context);
  const start = cache.revision;
  const created = await put(store, 'a', { data: '1' });
  await cache.fresh();
  const early = collection.snapshot();
  const updated = await put(store, 'a', { data: '2' });
  await cache.fresh();
  const other = await store.create(`${nodes.prefix}n1`, configMap('n1'));
  await cache.fresh();
  const removed = await remove(store, 'a');
  await cache.fresh();
  assert.deepEqual(names(early), [`a@${created}`]);
  assert.deepEqual(names(collection.snapshot()), []);
  const rows = new Map([
    [start, []],
    [created, [`a@${created}`]],
    [updated, [`a@${updated}`]],
    [other.revision, [`a@${updated}`]],
    [removed, []],
  ]);
  for (const [revision, expected] of rows) {
    const snapshot = collection.snapshotAt(revision);
    assert.equal(snapshot?.revision, revision);
    assert.deepEqual(names(snapshot), expected);
  }
  assert.equal(collection.snapshotAt(start - 1), undefined);
  assert.equal(collection.snapshotAt(removed + 1), undefined);
});

test('one past state is kept per batch, and none within it', async (context) => {
  const { cache, store, configMaps: collection } = await openCache(context);
  const start = cache.revision;
  await cache.close();
  const writes: number[] = [];
  for (const name of ['a', 'b', 'c']) writes.push(await put(store, name));
  const [first = 0, second = 0, third = 0] = writes;
  // A change stream from the start has all three in one batch.
  const late = new FaultyStore(store);
  late.head = async () => start;
  const reopened = await openCache(context, { store: late });
  late.head = () => store.head();
  await reopened.cache.fresh();
  const again = reopened.configMaps;
  assert.deepEqual(names(again.snapshotAt(start)), []);
  assert.equal(again.snapshotAt(first), undefined);
  assert.equal(again.snapshotAt(second), undefined);
  assert.deepEqual(names(again.snapshotAt(third)), [`a@${first}`, `b@${second}`, `c@${third}`]);
  assert.deepEqual(names(collection.snapshot()), []);
});

test('past snapshots are bounded in number and in age', async (context) => {
  const { cache, store, clock, configMaps: collection } = await openCache(context);
  const revisions: number[] = [];
  for (let write = 0; write < limits.cacheSnapshotsMax + 10; write++) {
    revisions.push(await put(store, 'a', { data: String(write) }));
    await cache.fresh();
  }
  const held = revisions.filter((revision) => collection.snapshotAt(revision));
  assert.deepEqual(held, revisions.slice(-limits.cacheSnapshotsMax - 1));
  clock.advance(limits.historyMs + limits.cacheSweepMs);
  assert.deepEqual(
    revisions.filter((revision) => collection.snapshotAt(revision)),
    revisions.slice(-1),
  );
});

test('counts of ranges', async (context) => {
  const { cache, store, configMaps: collection } = await openCache(context);
  for (const namespace of ['a', 'b', 'b-c']) {
    for (let index = 0; index < 100; index++) {
      const name = `n${String(index).padStart(3, '0')}`;
      await store.create(keyOf(name, namespace), configMap(name, { namespace }));
    }
  }
  await cache.fresh();
  const snapshot = collection.snapshot();
  const { prefix } = configMaps;
  const rows = [
    [prefix, undefined, 300],
    [`${prefix}b/`, undefined, 100],
    [`${prefix}b/`, keyOf('n009', 'b'), 90],
    [`${prefix}b/`, keyOf('n009x', 'b'), 90],
    [`${prefix}b/`, keyOf('n099', 'b'), 0],
    [`${prefix}b/`, keyOf('n005', 'a'), 100],
    // '-' sorts before '/'.
    [`${prefix}b/`, keyOf('n005', 'b-c'), 100],
    [`${prefix}b/`, keyOf('n005', 'c'), 0],
    [`${prefix}none/`, undefined, 0],
    [prefix, keyOf('n099', 'a'), 200],
  ] as const;
  for (const [within, after, expected] of rows) {
    const options = after === undefined ? {} : { after };
    assert.equal(snapshot.count(within, options), expected, `${within} after ${after}`);
    assert.equal([...snapshot.entries(within, options)].length, expected, `${within} after ${after}`);
  }
});

test('waitFor', async (context) => {
  const { cache, store, clock } = await openCache(context);
  const { revision } = cache;
  assert.equal(await cache.waitFor(revision, 0), true);
  assert.equal(await cache.waitFor(revision + 1, 0), false);
  const late = cache.waitFor(revision + 1, 3_000);
  clock.advance(3_000);
  assert.equal(await late, false);
  const aborted = new AbortController();
  const given = cache.waitFor(revision + 1, 3_000, aborted.signal);
  aborted.abort();
  assert.equal(await given, false);
  const reached = cache.waitFor(revision + 1, 3_000);
  const pending = clock.pending;
  await put(store, 'a');
  assert.equal(await reached, true);
  assert.equal(clock.pending, pending - 1);
  const never = cache.waitFor(revision + 100, 3_000);
  await cache.close();
  assert.equal(await never, false);
});

test('fresh shows every write acknowledged before the call, and shares round trips', async (context) => {
  const store = new FaultyStore();
  const { cache } = await openCache(context, { store });
  let heads = 0;
  const gates: (() => void)[] = [];
  store.before = (call) => {
    if (call !== 'head') return;
    heads++;
    return new Promise((resolve) => gates.push(resolve));
  };
  const first = cache.fresh();
  const second = await put(store, 'a').then((revision) => ({ revision, shown: [cache.fresh(), cache.fresh()] }));
  assert.equal(heads, 1);
  gates[0]?.();
  await first;
  await until(() => heads === 2);
  gates[1]?.();
  for (const revision of await Promise.all(second.shown)) assert.ok(revision >= second.revision);
  assert.equal(heads, 2);
  // A failed read does not affect the next one.
  store.before = (call) => {
    if (call === 'head') throw new StoreError('unavailable', 'no');
  };
  const failing = cache.fresh();
  const next = cache.fresh();
  await assert.rejects(failing, (error) => isStoreError(error, 'unavailable'));
  await assert.rejects(next, (error) => isStoreError(error, 'unavailable'));
  store.before = () => {};
  assert.equal(await cache.fresh(), await store.head());
});

test('a cache is fresh at once if the store knows its head and the cache has reached it', async (context) => {
  const { store, cache } = await openCache(context);
  assert.equal(cache.isFresh(), true);
  for (const name of ['a', 'b', 'c']) {
    const revision = await put(store, name);
    // After a write it may be fresh or not, but must never report fresh without showing that write.
    assert.equal(cache.isFresh(), cache.revision >= revision);
    await cache.fresh();
    assert.equal(cache.isFresh(), true);
  }
});

test('a cache is not known to be fresh if the store must be queried for its head', async (context) => {
  const { cache } = await openCache(context, { store: new FaultyStore() });
  await cache.fresh();
  assert.equal(cache.isFresh(), false);
});

test('fresh rejects on abort, and if the cache does not reach the revision', async (context) => {
  const store = new FaultyStore();
  const { cache, clock } = await openCache(context, { store });
  await assert.rejects(cache.fresh(AbortSignal.abort(new Error('gone'))), /gone/);
  store.breakChangeStreams(new StoreError('unavailable', 'broken'));
  store.before = (call) => {
    if (call === 'changes') throw new StoreError('unavailable', 'still broken');
  };
  await until(() => clock.pending > 1);
  await put(store, 'a');
  const gone = new AbortController();
  const aborted = cache.fresh(gone.signal);
  await until(() => clock.pending > 2);
  gone.abort(new Error('gone'));
  await assert.rejects(aborted, /gone/);
  const late = cache.fresh();
  await until(() => clock.pending > 2);
  clock.advance(limits.requestMsMax);
  await assert.rejects(late, (error) => isStoreError(error, 'unavailable'));
});

test('a broken change stream is resumed from its position', async (context) => {
  const store = new FaultyStore();
  const { cache, clock, log, configMaps: collection } = await openCache(context, { store });
  const watch = new RecordingWatch(collection, { after: cache.revision });
  const first = await put(store, 'a', { data: '1' });
  await cache.fresh();
  store.breakChangeStreams(new StoreError('unavailable', 'broken'));
  await until(() => log.lines.some(({ level }) => level === 'warn'));
  const second = await put(store, 'a', { data: '2' });
  assert.equal(cache.revision, first);
  clock.advance(limits.changeStreamRetryMsMin);
  await cache.fresh();
  assert.deepEqual(watch.received, [`ADDED a@${first}`, `MODIFIED a@${second}`]);
  assert.deepEqual(names(collection.snapshot()), [`a@${second}`]);
});

test('pauses between attempts grow up to a limit', async (context) => {
  const store = new FaultyStore();
  const { clock } = await openCache(context, { store });
  let attempts = 0;
  store.before = (call) => {
    if (call !== 'changes') return;
    attempts++;
    throw new StoreError('unavailable', 'broken');
  };
  store.breakChangeStreams(new StoreError('unavailable', 'broken'));
  const idle = clock.pending;
  for (
    let wait: number = limits.changeStreamRetryMsMin, attempt = 1;
    attempt < 10;
    wait = Math.min(wait * 2, limits.changeStreamRetryMsMax), attempt++
  ) {
    await until(() => clock.pending > idle);
    clock.advance(wait - 1);
    assert.equal(attempts, attempt - 1);
    clock.advance(1);
    await until(() => attempts === attempt);
  }
});

test('a cache tells since when it has lost the changes, until it could read everything again', async (context) => {
  const store = new FaultyStore();
  const { cache, clock, log } = await openCache(context, { store });
  store.before = (call) => {
    if (call === 'head') throw new StoreError('corrupt', 'unreadable');
  };
  store.breakChangeStreams(new StoreError('corrupt', 'unreadable'));
  const idle = clock.pending;
  await until(() => clock.pending > idle);
  assert.equal(cache.lostSinceMs, undefined);
  clock.advance(limits.changeStreamRetryMsMin);
  const lostSinceMs = clock.monotonic();
  await until(() => log.lines.some(({ level }) => level === 'warn'));
  assert.equal(cache.lostSinceMs, lostSinceMs);
  store.before = () => {};
  clock.advance(limits.changeStreamRetryMsMax);
  await until(() => cache.lostSinceMs === undefined);
});

test('after compaction everything is reloaded and watches are closed', async (context) => {
  const store = new FaultyStore();
  const metrics = {
    reloads: new RecordingCounter(),
    slowWatches: new RecordingCounter(),
    corruptObjects: new RecordingCounter(),
  };
  const { cache, clock, log, configMaps: collection } = await openCache(context, { store, metrics });
  await put(store, 'gone');
  await put(store, 'kept', { data: '1' });
  await cache.fresh();
  const watch = new RecordingWatch(collection, { after: cache.revision });
  await until(() => cache.watchers === 1);
  store.breakChangeStreams(new StoreError('unavailable', 'broken'));
  await until(() => log.lines.some(({ level }) => level === 'warn'));
  await remove(store, 'gone');
  const kept = await put(store, 'kept', { data: '2' });
  await store.compact(await store.head());
  const before = cache.revision;
  clock.advance(limits.changeStreamRetryMsMin);
  await cache.fresh();
  assert.ok(cache.revision > before);
  assert.deepEqual(names(collection.snapshot()), [`kept@${kept}`]);
  assert.equal(collection.snapshotAt(before), undefined);
  assert.equal(watch.closedFor, 'compacted');
  assert.deepEqual(watch.received, []);
  assert.equal(cache.watchers, 0);
  assert.equal(metrics.reloads.count, 1);
  const again = new RecordingWatch(collection, { after: cache.revision });
  const next = await put(store, 'kept', { data: '3' });
  await cache.fresh();
  assert.deepEqual(again.received, [`MODIFIED kept@${next}`]);
});

test('a failing reload is retried until it succeeds, and the old state is served meanwhile', async (context) => {
  const store = new FaultyStore();
  const { cache, clock, log, configMaps: collection } = await openCache(context, { store });
  const old = await put(store, 'a', { data: '1' });
  await cache.fresh();
  let lists = 0;
  store.before = (call) => {
    if (call === 'list' && ++lists < 3) throw new StoreError('unavailable', 'no');
  };
  store.breakChangeStreams(new StoreError('corrupt', 'a damaged log'));
  await until(() => clock.pending > 1);
  const renewed = await put(store, 'a', { data: '2' });
  assert.deepEqual(names(collection.snapshot()), [`a@${old}`]);
  await until(() => {
    clock.advance(limits.changeStreamRetryMsMax);
    return lists >= 3;
  });
  await cache.fresh();
  assert.deepEqual(names(collection.snapshot()), [`a@${renewed}`]);
  assert.ok(log.lines.some(({ level, fields }) => level === 'error' && JSON.stringify(fields).includes('revision')));
});

test('ready rejects when the store cannot be read', async (context) => {
  const store = new FaultyStore();
  store.before = (call) => {
    if (call === 'list') throw new StoreError('unavailable', 'no');
  };
  await assert.rejects(openCache(context, { store }), (error) => isStoreError(error, 'unavailable'));
});

test('resources can be added while changes come', async (context) => {
  const store = new FaultyStore();
  const { cache } = await openCache(context, { store, resources: [nodes] });
  const early = await put(store, 'early');
  await cache.fresh();
  let open: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  store.before = (call) => (call === 'list' ? gate : undefined);
  const added = cache.addResource(configMaps);
  const collection = cache.collection(configMaps.prefix);
  const watch = new RecordingWatch(collection, { after: early });
  const late = await put(store, 'late');
  await cache.fresh();
  assert.deepEqual(
    cache.collections().map(({ prefix }) => prefix),
    [nodes.prefix],
  );
  assert.deepEqual(names(collection.snapshot()), []);
  open();
  await added;
  assert.deepEqual(names(collection.snapshot()), [`early@${early}`, `late@${late}`]);
  assert.deepEqual(watch.received, [`ADDED late@${late}`]);
  assert.deepEqual(names(collection.snapshotAt(early)), [`early@${early}`]);
  await assert.rejects(cache.addResource(configMaps), /overlap/);
  await assert.rejects(cache.addResource({ ...configMaps, prefix: '/core/' }), /overlap/);
  await assert.rejects(cache.addResource({ ...configMaps, prefix: 'core' }), /no prefix/);
});

test('removing a resource ends its watches; it can be added again, and others are unaffected', async (context) => {
  const store = new FaultyStore();
  const { cache } = await openCache(context, { store, resources: [nodes, configMaps] });
  const first = await put(store, 'a');
  await cache.fresh();
  const removed = cache.collection(configMaps.prefix);
  const kept = removed.snapshot();
  const [watch, other] = [
    new RecordingWatch(removed, { after: 0 }),
    new RecordingWatch(cache.collection(nodes.prefix), { after: 0 }),
  ];
  await put(store, 'b');
  await cache.fresh();
  await new Promise((resolve) => setImmediate(resolve));
  cache.removeResource(configMaps.prefix);
  assert.deepEqual([watch.closedFor, other.closedFor], ['closed', undefined]);
  assert.throws(() => cache.collection(configMaps.prefix), /no resource/);
  assert.throws(() => cache.removeResource(configMaps.prefix), /no resource/);
  assert.deepEqual(names(kept), [`a@${first}`], 'what was read stays');
  assert.deepEqual(names(removed.snapshot()), []);
  const late = new RecordingWatch(removed, { after: first });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(late.closedFor, 'closed');
  assert.equal(cache.watchers, 1);
  const missed = await put(store, 'c');
  await cache.fresh();
  await cache.addResource(configMaps);
  assert.ok(names(cache.collection(configMaps.prefix).snapshot())?.includes(`c@${missed}`));
  await assert.rejects(cache.addResource({ ...configMaps, prefix: '/core/' }), /overlap/);
});

test('a resource may be removed while it is loaded', async (context) => {
  const store = new FaultyStore();
  const { cache } = await openCache(context, { store, resources: [nodes] });
  let open: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  store.before = (call) => (call === 'list' ? gate : undefined);
  const added = assert.rejects(cache.addResource(configMaps), (error) => isStoreError(error, 'unavailable'));
  cache.removeResource(configMaps.prefix);
  open();
  await added;
  await cache.addResource(configMaps);
  assert.equal(cache.collections().length, 2);
});

test('reloading a resource closes its watches and keeps its revision', async (context) => {
  const { cache, store, configMaps: collection } = await openCache(context);
  const first = await put(store, 'a');
  await cache.fresh();
  const watch = new RecordingWatch(collection, { after: cache.revision });
  await Promise.all([cache.reload(configMaps.prefix), cache.reload(configMaps.prefix)]);
  assert.equal(watch.closedFor, 'compacted');
  assert.deepEqual(names(collection.snapshotAt(first)), [`a@${first}`]);
  const next = await put(store, 'b');
  await cache.fresh();
  assert.deepEqual(names(collection.snapshot()), [`a@${first}`, `b@${next}`]);
});

test('a value that is not an object is set aside, logged once, and ends the watches it concerns', async (context) => {
  const store = openMemoryStore();
  const bad = await store.create(keyOf('bad'), Buffer.from('{"secret":'));
  const stray = await store.create(`${configMaps.prefix}stray`, configMap('stray'));
  const metrics = {
    reloads: new RecordingCounter(),
    slowWatches: new RecordingCounter(),
    corruptObjects: new RecordingCounter(),
  };
  const { cache, log, configMaps: collection } = await openCache(context, { store, metrics });
  const a = await put(store, 'a');
  await cache.fresh();
  const corrupt = new Map([
    [keyOf('bad'), bad.revision],
    [`${configMaps.prefix}stray`, stray.revision],
  ]);
  assert.deepEqual(collection.snapshot().corrupt, corrupt);
  assert.deepEqual(names(collection.snapshot()), [`a@${a}`]);
  assert.equal(metrics.corruptObjects.count, 2);
  assert.equal(log.lines.length, 2);
  assert.doesNotMatch(JSON.stringify(log.lines), /secret/);

  const concerned = new RecordingWatch(collection, { after: cache.revision });
  const elsewhere = new RecordingWatch(collection, { after: cache.revision, namespace: 'other' });
  const worse = await store.update(keyOf('a'), Buffer.from('junk'), a);
  await cache.fresh();
  assert.equal(concerned.closedFor, 'compacted');
  assert.equal(elsewhere.closedFor, undefined);
  assert.equal(collection.get(keyOf('a')), undefined);
  assert.equal(collection.snapshot().corrupt.get(keyOf('a')), worse.revision);
  assert.deepEqual(names(collection.snapshotAt(a)), [`a@${a}`]);

  // A watch that starts before it cannot deliver what happened; one that starts after it can.
  const before = new RecordingWatch(collection, { after: a });
  await until(() => before.closedFor !== undefined);
  assert.equal(before.closedFor, 'compacted');
  const after = new RecordingWatch(collection, { after: worse.revision });
  const mended = await store.update(keyOf('a'), configMap('a'), worse.revision);
  await store.delete(keyOf('bad'), bad.revision);
  await cache.fresh();
  assert.deepEqual(after.received, [`ADDED a@${mended.revision}`]);
  assert.deepEqual([...collection.snapshot().corrupt.keys()], [`${configMaps.prefix}stray`]);
});

test('the revision never goes back', async (context) => {
  const store = new FaultyStore(openMemoryStore({ revision: 100 }));
  const { cache, clock, log } = await openCache(context, { store });
  await put(store, 'a');
  await cache.fresh();
  const { revision } = cache;
  store.head = async () => 7;
  store.breakChangeStreams(new StoreError('compacted', 'gone'));
  await until(() => clock.pending > 1);
  assert.equal(cache.revision, revision);
  assert.ok(log.lines.some(({ fields }) => String((fields as { error?: unknown }).error).includes('is at revision 7')));
});

test('closing ends everything', async () => {
  const store = openMemoryStore();
  const clock = new ManualClock();
  const cache = createWatchCache({ random: noJitter, store, resources: [configMaps], clock, logger: silentLogger });
  await cache.ready();
  const watch = new RecordingWatch(cache.collection(configMaps.prefix), { after: 0 });
  const live = new RecordingWatch(cache.collection(configMaps.prefix), { after: cache.revision });
  await cache.close();
  await cache.close();
  const late = new RecordingWatch(cache.collection(configMaps.prefix), { after: cache.revision });
  await until(() => late.closedFor !== undefined);
  assert.deepEqual([watch.closedFor, live.closedFor, late.closedFor], ['closed', 'closed', 'closed']);
  assert.equal(cache.watchers, 0);
  assert.equal(clock.pending, 0);
  await assert.rejects(
    cache
      .fresh()
      .then(() => store.close())
      .then(() => cache.fresh()),
    (error) => isStoreError(error, 'unavailable'),
  );
});

test('a large batch is applied in slices, between which other code runs and sees whole revisions', async (context) => {
  const clock = new ManualClock();
  const inner = openMemoryStore();
  const count = 60;
  const changes: Change[] = [];
  // Two per revision, as in a store that writes several keys at once.
  for (let index = 0; index < count; index++) {
    const revision = 2 + Math.floor(index / 2);
    const name = `c${String(index).padStart(3, '0')}`;
    changes.push({ type: 'create', key: keyOf(name), value: configMap(name), revision });
  }
  const last = changes.at(-1)?.revision ?? 0;
  const store = new FaultyStore(inner);
  const written = Promise.withResolvers<void>();
  Object.assign(store, {
    head: () => Promise.resolve(1),
    async *changes(_after: number, signal: AbortSignal) {
      await written.promise;
      yield { changes, revision: last };
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },
  });
  const codecOf = (resource: CachedResource): EntryCodec => {
    const codec = objectCodec(resource);
    return {
      ...codec,
      decode(record, place) {
        // The time that large objects take.
        clock.advance(1);
        return codec.decode(record, place);
      },
    };
  };
  const { configMaps: collection } = await openCache(context, { store, clock, codecOf });
  const watch = new RecordingWatch(collection, { after: 1 });
  const seen: number[] = [];
  written.resolve();
  while (seen.at(-1) !== count) {
    await new Promise((resolve) => setImmediate(resolve));
    seen.push([...collection.snapshot().entries(configMaps.prefix)].length);
  }
  const atOnce = seen.map((held, index) => held - (seen[index - 1] ?? 0));
  assert.ok(Math.max(...atOnce) <= 2 * limits.sliceMs, `${Math.max(...atOnce)} in one turn`);
  assert.ok(
    seen.every((held) => held % 2 === 0),
    'a revision was split',
  );
  await until(() => watch.events.length === count);
  assert.deepEqual(
    watch.events.map(({ revision }) => revision),
    changes.map(({ revision }) => revision),
  );
});
