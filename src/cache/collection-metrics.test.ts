import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { limits } from '../base/limits.ts';
import { Metrics } from '../base/metrics.ts';
import { until } from '../base/waits-fixture.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import { configMaps, keyOf, openCache, put, putMany, RecordingWatch, remove } from './cache-fixture.ts';
import { collectionMetrics, showRevisions } from './collection-metrics.ts';

async function openMeasured(context: TestContext) {
  const metrics = new Metrics();
  const store = openMemoryStore();
  await put(store, 'first');
  const opened = await openCache(context, { store, metricsOf: collectionMetrics(metrics) });
  showRevisions(metrics, opened.cache);
  /** Counts by short name; series without labels of a ConfigMap are left out. */
  const counts = (): Readonly<Record<string, number>> =>
    Object.fromEntries(
      [...metrics.render().matchAll(/^apiserver_(\w+)\{resource="configmaps"\} (\S+)$/gm)].map(([, name, value]) => [
        name,
        Number(value),
      ]),
    );
  return { ...opened, metrics, counts };
}

const afterLoad = {
  storage_list_total: 1,
  storage_list_fetched_objects_total: 1,
  storage_list_evaluated_objects_total: 1,
  storage_list_returned_objects_total: 1,
  watch_cache_initializations_total: 1,
};

test('a load is a list of the store, and nothing else is shown before it happens', async (context) => {
  const { cache, counts } = await openMeasured(context);
  assert.deepEqual(counts(), { ...afterLoad, watch_cache_resource_version: cache.revision });
  await cache.reload(configMaps.prefix);
  assert.equal(counts()['watch_cache_initializations_total'], 2);
  assert.equal(counts()['storage_list_total'], 2);
});

test('changes are counted as they come, and as they are handed on, whichever the scope', async (context) => {
  const { cache, store, counts } = await openMeasured(context);
  await put(store, 'second');
  await remove(store, 'first');
  const scoped = { ...configMaps, prefix: '/.scopes/x/core/configmaps/' };
  await cache.addResource(scoped);
  await store.create(`${scoped.prefix}default/a`, (await store.get(keyOf('second')))?.value ?? assert.fail());
  await cache.fresh();
  const { watch_cache_events_received_total, watch_cache_events_dispatched_total, ...rest } = counts();
  assert.deepEqual([watch_cache_events_received_total, watch_cache_events_dispatched_total], [3, 3]);
  assert.equal(rest['storage_events_received_total'], 3);
  assert.equal(rest['watch_cache_resource_version'], cache.revision);
  assert.equal(rest['watch_cache_initializations_total'], 2);
});

test('events with which a watch catches up are counted, later ones are not', async (context) => {
  const { cache, store, configMaps: collection, counts } = await openMeasured(context);
  const start = cache.revision;
  await putMany(store, 3);
  await cache.fresh();
  const watch = new RecordingWatch(collection, { after: start });
  await until(() => watch.events.length === 3);
  await put(store, 'more');
  await cache.fresh();
  await until(() => watch.events.length === 4);
  assert.equal(counts()['init_events_total'], 3);
});

test('watches that are not read are counted when they are ended', async (context) => {
  const { cache, store, configMaps: collection, counts } = await openMeasured(context);
  const slow = new RecordingWatch(collection, { after: cache.revision }, 1);
  const left = new RecordingWatch(collection, { after: cache.revision });
  await putMany(store, limits.watcherBufferEventsMax + 2);
  await cache.fresh();
  await until(() => slow.closedFor === 'slow');
  left.watcher.close();
  assert.equal(counts()['terminated_watchers_total'], 1);
});

test('values that are no objects are counted, when they come and when they are loaded', async (context) => {
  const { cache, store, counts } = await openMeasured(context);
  await store.create(keyOf('broken'), Buffer.from('{'));
  await cache.fresh();
  assert.equal(counts()['storage_decode_errors_total'], 1);
  assert.equal(counts()['watch_cache_events_received_total'], 1);
  await cache.reload(configMaps.prefix);
  assert.equal(counts()['storage_decode_errors_total'], 2);
  assert.deepEqual(
    [counts()['storage_list_fetched_objects_total'], counts()['storage_list_returned_objects_total']],
    [3, 2],
  );
});

test('the revision of a resource that is removed is no longer shown', async (context) => {
  const { cache, counts } = await openMeasured(context);
  assert.ok('watch_cache_resource_version' in counts());
  cache.removeResource(configMaps.prefix);
  assert.ok(!('watch_cache_resource_version' in counts()));
});

test('resources beyond the bound are counted together', () => {
  const metrics = new Metrics();
  const of = collectionMetrics(metrics);
  const count = limits.metricSeriesMax + 500;
  for (let n = 0; n < count; n++) for (let twice = 0; twice < 2; twice++) of(`/g${n}/things/`).received.add();
  const lines = [...metrics.render().matchAll(/^apiserver_watch_cache_events_received_total\{.*$/gm)].map(String);
  assert.equal(lines.length, limits.metricSeriesMax + 1);
  assert.ok(lines.includes('apiserver_watch_cache_events_received_total{resource="overflow"} 1000'));
});
