import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../base/waits-fixture.ts';
import type { Revision } from '../store/store.ts';
import type { Collection } from './cache.ts';
import { configMap, configMaps, FaultyStore, keyOf, nodes, openCache, RecordingWatch } from './cache-fixture.ts';
import { ResourceCollection } from './resource-collection.ts';

/** The memory of the cache's histories is bounded in bytes for any pattern of writes. */

const historiesBytesMax = 400_000;
const data = 'x'.repeat(20_000);
const node = (value: string): Buffer =>
  Buffer.from(JSON.stringify({ kind: 'Node', apiVersion: 'v1', metadata: { name: 'a' }, data: { value } }));

const bytesOf = (collection: Collection): number => {
  assert.ok(collection instanceof ResourceCollection);
  return collection.historyBytes;
};

test('an object rewritten in a loop neither fills memory nor evicts the history of other resources', async (context) => {
  const store = new FaultyStore();
  let streams = 0;
  store.before = (call) => {
    if (call === 'changes') streams++;
  };
  const { cache } = await openCache(context, { store, historiesBytesMax });
  const maps = cache.collection(configMaps.prefix);
  const others = cache.collection(nodes.prefix);
  const start = cache.revision;
  let small = (await store.create(`${nodes.prefix}a`, node('0'))).revision;
  for (let index = 1; index <= 20; index++)
    small = (await store.update(`${nodes.prefix}a`, node(`${index}`), small)).revision;
  let large: Revision = (await store.create(keyOf('a'), configMap('a', { data }))).revision;
  for (let index = 0; index < 100; index++) {
    large = (await store.update(keyOf('a'), configMap('a', { data }), large)).revision;
    await cache.fresh();
    assert.ok(bytesOf(maps) + bytesOf(others) <= historiesBytesMax);
  }
  assert.ok(bytesOf(maps) > historiesBytesMax / 2, 'what may be kept is kept');
  assert.equal(maps.snapshotAt(start + 25), undefined, 'states of the past go with their changes');
  assert.ok(maps.snapshotAt(large - 1));

  streams = 0;
  const ofOthers = new RecordingWatch(others, { after: start });
  await cache.fresh();
  assert.equal(ofOthers.events.length, 21);
  assert.equal(streams, 0, 'it is answered from memory');
  const ofMaps = new RecordingWatch(maps, { after: start });
  await until(() => ofMaps.events.length === 101);
  assert.equal(streams, 1, 'the store has what the cache forgot');
});
