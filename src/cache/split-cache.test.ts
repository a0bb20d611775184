import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until, within } from '../base/waits-fixture.ts';
import { DecoratedStore } from '../store/decorated-store.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import { type Revision, StoreError } from '../store/store.ts';
import { configMaps, keyOf, nodes, openCache, put, putMany, RecordingWatch } from './cache-fixture.ts';
import { SplitCache } from './split-cache.ts';

/** As an etcd: only a question tells how far it is. */
class AskedStore extends DecoratedStore {
  asked = 0;
  away = false;

  override get knownHead(): undefined {
    return undefined;
  }

  override head(): Promise<Revision> {
    this.asked++;
    return this.away ? Promise.reject(new StoreError('unavailable', 'away')) : super.head();
  }
}

/** ConfigMaps have a store of their own. */
async function open(context: TestContext, { decides = false } = {}) {
  const [mainStore, mapStore] = [new AskedStore(openMemoryStore()), new AskedStore(openMemoryStore())];
  const main = await openCache(context, { store: mainStore, resources: [nodes] });
  const maps = await openCache(context, { store: mapStore, resources: [configMaps] });
  const others = new Map([[configMaps.prefix, maps.cache]]);
  const cache = new SplitCache({ main: main.cache, others, decides: () => decides });
  await cache.ready();
  for (const store of [mainStore, mapStore]) store.asked = 0;
  return { cache, main: main.cache, maps: maps.cache, mainStore, mapStore };
}

test('each collection is that of its store, with the revisions of that', async (context) => {
  const { cache, main, maps, mapStore } = await open(context);
  await putMany(mapStore, 5);
  const revision = await cache.collection(configMaps.prefix).line.fresh();
  assert.deepEqual(
    cache.collections().map(({ prefix, line }) => [prefix, line === main ? 'main' : line === maps && 'maps']),
    [
      [nodes.prefix, 'main'],
      [configMaps.prefix, 'maps'],
    ],
  );
  const collection = cache.collection(configMaps.prefix);
  assert.equal(collection.snapshot().revision, revision);
  assert.ok(cache.collection(nodes.prefix).line.revision < revision);
  const watch = new RecordingWatch(collection, { after: revision });
  assert.equal(cache.watchers, 1);
  await put(mapStore, 'm0', { data: 'changed' });
  await until(() => watch.events.length === 1);
  watch.watcher.close();
});

test('resources come and go where they belong, in each scope', async (context) => {
  const { cache, main, maps, mapStore } = await open(context);
  const scoped = { ...configMaps, prefix: '/.scopes/x/core/configmaps/' };
  const custom = { ...nodes, prefix: '/example.com/things/' };
  await cache.addResource(scoped);
  await cache.addResource(custom);
  assert.equal(cache.collection(scoped.prefix), maps.collection(scoped.prefix));
  assert.equal(cache.collection(custom.prefix), main.collection(custom.prefix));
  await put(mapStore, 'a', { labels: { app: 'x' } });
  await cache.changeResource({ ...configMaps, selectableFields: [] });
  await cache.reload(configMaps.prefix);
  assert.ok(maps.collection(configMaps.prefix).get(keyOf('a')));
  cache.removeResource(scoped.prefix);
  cache.removeResource(custom.prefix);
  assert.throws(() => maps.collection(scoped.prefix), /no resource/);
  assert.throws(() => main.collection(custom.prefix), /no resource/);
});

for (const decides of [false, true]) {
  test(`it is fresh with the store of what ${decides ? 'decides' : 'decides nothing'}`, async (context) => {
    const { cache, mainStore, mapStore } = await open(context, { decides });
    const others = decides ? 1 : 0;
    assert.equal(cache.isFresh(), false);
    await cache.fresh();
    assert.deepEqual([mainStore.asked, mapStore.asked], [1, others]);
    const { signal } = new AbortController();
    await cache.freshFor({ signal });
    assert.equal(cache.freshFor({ signal }), undefined, 'it waits once for a caller');
    assert.equal(cache.freshFor({ signal, local: true }), undefined);
    assert.deepEqual([mainStore.asked, mapStore.asked], [2, 2 * others]);
    // Whoever reads what is there asks once more, unless that is done.
    const waiting = cache.collection(configMaps.prefix).line.freshFor({ signal });
    assert.equal(waiting === undefined, decides);
    await waiting;
    assert.deepEqual([mainStore.asked, mapStore.asked], [2, 1 + others]);
    mapStore.away = true;
    const asked = cache.freshFor(new AbortController());
    if (decides) await assert.rejects(asked ?? Promise.resolve(), { code: 'unavailable' });
    else await asked;
    mainStore.away = true;
    await assert.rejects(cache.fresh(), { code: 'unavailable' });
  });
}

test('what holds up one holds up all, and all are closed together', async (context) => {
  const { cache, mapStore } = await open(context);
  const released = Promise.withResolvers<void>();
  let holds = true;
  const throttled = cache.throttle(() => (holds ? released.promise : undefined));
  const collection = cache.collection(configMaps.prefix);
  const watch = new RecordingWatch(collection, { after: collection.line.revision });
  await put(mapStore, 'a');
  await collection.line.fresh();
  assert.equal(watch.events.length, 0);
  holds = false;
  released.resolve();
  await until(() => watch.events.length === 1);
  throttled.close();
  await within(cache.close(), 'it does not close');
  assert.equal(watch.closedFor, 'closed');
});
