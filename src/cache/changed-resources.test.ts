import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../base/limits.ts';
import { silentLogger } from '../base/logger.ts';
import { noJitter } from '../base/time/backoff-fixture.ts';
import { systemClock } from '../base/time/clock.ts';
import { until, within } from '../base/waits-fixture.ts';
import { StoreError } from '../store/store.ts';
import type { CachedResource, CacheEntry, Collection } from './cache.ts';
import {
  configMap,
  configMaps,
  FaultyStore,
  keyOf,
  nodes,
  openCache,
  put,
  RecordingWatch,
  remove,
} from './cache-fixture.ts';
import { ConsistencyChecker } from './consistency-checker.ts';

/** Resources whose form changes while they are used (`WatchCache.changeResource`). */

/** ConfigMaps whose data is shown with a prefix. */
const inForm = (form: string): CachedResource => ({
  ...configMaps,
  normalise: (value) => Buffer.from(Buffer.from(value).toString().replace('{"data":"', `{"data":"${form}`)),
});

const dataOf = ({ bytes }: CacheEntry): string => JSON.parse(bytes.toString()).data.data;

const shown = (collection: Collection): readonly string[] =>
  Array.from(collection.snapshot().entries(collection.prefix), (entry) => `${entry.name} ${dataOf(entry)}`);

/** What a watch received: `ADDED a@2 old-1`. */
const received = ({ events, received: texts }: RecordingWatch): readonly string[] =>
  texts.map((text, index) => `${text} ${dataOf((events[index] as RecordingWatch['events'][number]).entry)}`);

/** Lists of the store wait for `release`, after some that do not. */
function holdReads(store: FaultyStore, passed = 0): { readonly asked: () => boolean; readonly release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = false;
  let lists = 0;
  store.before = (call) => {
    if (call !== 'list' || ++lists <= passed) return;
    asked = true;
    return promise;
  };
  const release = (): void => {
    store.before = () => {};
    resolve();
  };
  return { asked: () => asked, release };
}

test('watches go on while a resource changes its form, and miss nothing', async (context) => {
  const store = new FaultyStore();
  await put(store, 'a', { data: '1' });
  const { cache, configMaps: collection } = await openCache(context, { store, resources: [inForm('old-')] });
  const start = cache.revision;
  const watch = new RecordingWatch(collection, { after: start });
  const held = holdReads(store);
  const changed = cache.changeResource(inForm('new-'));
  await until(held.asked);
  const during = await put(store, 'b', { data: '2' });
  await cache.fresh();
  held.release();
  await within(changed, 'the change does not end');
  assert.deepEqual(shown(collection), ['a new-1', 'b new-2']);
  const after = await put(store, 'a', { data: '3' });
  const gone = await remove(store, 'b');
  await until(() => watch.events.length === 3);
  assert.equal(watch.closedFor, undefined);
  const expected = [`ADDED b@${during} new-2`, `MODIFIED a@${after} new-3`, `DELETED b@${gone} new-2`];
  assert.deepEqual(received(watch), expected);
  const late = new RecordingWatch(collection, { after: start });
  await until(() => late.events.length === 3);
  assert.deepEqual(received(late), expected, 'a watch from before the change');
  watch.watcher.close();
  late.watcher.close();
});

test('past states are exact after a change', async (context) => {
  const { cache, store, configMaps: collection } = await openCache(context, { resources: [inForm('old-')] });
  const first = await put(store, 'a', { data: '1' });
  await cache.fresh();
  await put(store, 'a', { data: '2' });
  await cache.fresh();
  await cache.changeResource(inForm('new-'));
  const past = collection.snapshotAt(first);
  const seen = past ? Array.from(past.entries(collection.prefix), dataOf) : ['read from the store'];
  assert.deepEqual(seen, ['read from the store']);
  const record = (await store.get(keyOf('a'), first)) ?? assert.fail('it is there');
  assert.equal(dataOf(collection.decode(record)), 'new-1');
});

test('of several changes the last one counts', async (context) => {
  const store = new FaultyStore();
  await put(store, 'a', { data: '1' });
  const { cache, configMaps: collection } = await openCache(context, { store, resources: [inForm('old-')] });
  const held = holdReads(store);
  const changes = [cache.changeResource(inForm('new-'))];
  await until(held.asked);
  changes.push(cache.changeResource(inForm('newer-')), cache.changeResource(inForm('newest-')));
  held.release();
  await within(Promise.all(changes), 'the changes do not end');
  assert.deepEqual(shown(collection), ['a newest-1']);
});

test('a change counts while everything is reloaded', async (context) => {
  for (const when of ['before', 'during'] as const) {
    const store = new FaultyStore();
    await put(store, 'a', { data: '1' });
    // More than what is read for all resources together.
    const nodesMax = limits.cacheFirstPageMax + limits.cacheLoadPageMax;
    for (let at = 0; at < nodesMax; at++) await store.create(`${nodes.prefix}n${at}`, configMap(`n${at}`));
    const resources = [inForm('old-'), nodes];
    const { cache, clock, configMaps: collection } = await openCache(context, { store, resources });
    // One resource has been read when the change comes.
    const held = holdReads(store, when === 'during' ? 2 : 0);
    const changes: Promise<void>[] = [];
    if (when === 'before') changes.push(cache.changeResource(inForm('new-')));
    let heads = 0;
    const { before } = store;
    store.before = (call) => {
      if (call === 'head') heads++;
      return before(call);
    };
    store.breakChangeStreams(new StoreError('compacted', 'gone', { revision: 1 }));
    await until(() => {
      clock.advance(1_000);
      return heads > 0 && held.asked();
    });
    if (when === 'during') changes.push(cache.changeResource(inForm('new-')));
    held.release();
    await within(Promise.all(changes), 'the change does not end');
    const next = await put(store, 'b', { data: '2' });
    await until(() => {
      clock.advance(1_000);
      return cache.revision >= next;
    });
    assert.deepEqual(shown(collection), ['a new-1', 'b new-2'], when);
  }
});

test('a reload because of wrong state ends watches, also if a change is under way', async (context) => {
  const store = new FaultyStore();
  await put(store, 'a', { data: '1' });
  const { cache, configMaps: collection } = await openCache(context, { store, resources: [inForm('old-')] });
  const watch = new RecordingWatch(collection, { after: cache.revision });
  const held = holdReads(store);
  const changed = cache.changeResource(inForm('new-'));
  await until(held.asked);
  const reloaded = cache.reload(configMaps.prefix);
  held.release();
  await within(Promise.all([changed, reloaded]), 'the change does not end');
  await until(() => watch.closedFor !== undefined);
  assert.equal(watch.closedFor, 'compacted');
  assert.deepEqual(shown(collection), ['a new-1']);
});

test('a resource that is removed while it changes is gone', async (context) => {
  const store = new FaultyStore();
  await put(store, 'a', { data: '1' });
  const { cache, configMaps: collection } = await openCache(context, { store, resources: [inForm('old-')] });
  const watch = new RecordingWatch(collection, { after: cache.revision });
  const held = holdReads(store);
  const changed = cache.changeResource(inForm('new-'));
  await until(held.asked);
  cache.removeResource(configMaps.prefix);
  held.release();
  await within(changed, 'the change does not end');
  assert.equal(watch.closedFor, 'closed');
  assert.deepEqual(shown(collection), []);
  assert.throws(() => cache.collection(configMaps.prefix));
});

test('the consistency checker finds no fault in a resource that changes', async (context) => {
  const store = new FaultyStore();
  await put(store, 'a', { data: '1' });
  const { cache } = await openCache(context, { store, resources: [inForm('old-')] });
  const checker = new ConsistencyChecker({ cache, store, clock: systemClock, random: noJitter, logger: silentLogger });
  context.after(() => checker.close());
  const { mismatches } = await checker.check();
  assert.deepEqual(mismatches, []);
  const held = holdReads(store);
  const checks = [checker.check()];
  await until(held.asked);
  const changed = cache.changeResource(inForm('new-'));
  checks.push(checker.check());
  held.release();
  for (const report of await within(Promise.all(checks), 'the checks do not end')) {
    assert.deepEqual(report.mismatches, []);
  }
  await changed;
  assert.deepEqual((await checker.check()).mismatches, []);
});

test('nothing is decoded before what decodes it is ready', async (context) => {
  const store = new FaultyStore();
  await put(store, 'a', { data: '1' });
  let isReady = false;
  let waits = 0;
  const lazy = (form: string): CachedResource => {
    const { normalise = assert.fail(), ...resource } = inForm(form);
    return {
      ...resource,
      normalise(value) {
        assert.ok(isReady, 'decoded too early');
        return normalise(value);
      },
      ready: () => {
        if (isReady) return undefined;
        waits++;
        return new Promise<void>((resolve) =>
          setImmediate(() => {
            isReady = true;
            resolve();
          }),
        );
      },
    };
  };
  const { cache, configMaps: collection } = await openCache(context, { store, resources: [lazy('old-')] });
  assert.deepEqual([shown(collection), waits], [['a old-1'], 1], 'the first load');
  isReady = false;
  await within(cache.changeResource(lazy('new-')), 'the change does not end');
  assert.deepEqual([shown(collection), waits], [['a new-1'], 2], 'a change of form');
  isReady = false;
  await put(store, 'b', { data: '2' });
  await within(cache.fresh(), 'the cache does not follow');
  assert.deepEqual([shown(collection), waits], [['a new-1', 'b new-2'], 3], 'a change of an object');
  isReady = false;
  await within(cache.reload(collection.prefix), 'the reload does not end');
  assert.deepEqual([shown(collection), waits], [['a new-1', 'b new-2'], 4], 'a reload');
});
