import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spanOf } from '../base/collections/byte-span.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import type { CacheEntry } from './cache.ts';
import { configMap, configMaps, keyOf, openCache, RecordingWatch } from './cache-fixture.ts';
import { FieldIndex } from './field-index.ts';

const web = { label: 'app', value: 'web' };
/** An entry with only what an index reads. */
const entryAt = (index: number, app: string | undefined): CacheEntry => {
  const key = `/core/configmaps/default/c${String(index).padStart(4, '0')}`;
  const fields: Readonly<Record<string, string | undefined>> = { app, tier: index % 2 === 0 ? 'front' : 'back' };
  return {
    ...spanOf(Buffer.from('{}')),
    key,
    namespace: 'default',
    name: key,
    revision: 1,
    stale: false,
    bytes: Buffer.from('{}'),
    label: () => undefined,
    field: (path) => fields[path],
  };
};
const names = (entries: Iterable<{ readonly name: string }> | undefined) =>
  entries && Array.from(entries, ({ name }) => name);

test('a snapshot looks up entries by field as long as it is current', async (context) => {
  const store = openMemoryStore();
  const { cache, configMaps: collection } = await openCache(context, { store });
  const { revision } = await store.create(keyOf('a'), configMap('a', { labels: { app: 'web' } }));
  await store.create(keyOf('b'), configMap('b', { labels: { app: 'web' } }));
  await store.create(keyOf('c'), configMap('c', { labels: { app: 'db' } }));
  await cache.fresh();
  const snapshot = collection.snapshot();
  const found = snapshot.entriesWith(web, configMaps.prefix);
  await store.update(keyOf('a'), configMap('a', { labels: { app: 'db' } }), revision);
  await cache.fresh();
  assert.deepEqual(names(found), ['a', 'b']);
  assert.equal(snapshot.entriesWith(web, configMaps.prefix), undefined);
  assert.deepEqual(names(collection.snapshot().entriesWith(web, configMaps.prefix)), ['b']);
  assert.deepEqual(names(collection.snapshot().entriesWith({ label: 'app', value: 'db' }, configMaps.prefix)), [
    'a',
    'c',
  ]);
});

test('an index that is filled at once is what one entry after the other makes, and goes on as that does', () => {
  const values = ['one', 'two', 'two', undefined, 'many'];
  const entries = Array.from({ length: 300 }, (_, index) => {
    const app = index < values.length ? values[index] : 'many';
    return entryAt(index, app);
  });
  const filled = new FieldIndex(['app', 'tier']);
  const grown = new FieldIndex(['app', 'tier']);
  filled.replace(undefined, entryAt(1_000, 'of before'));
  filled.fill(() => entries.values());
  for (const entry of entries) grown.replace(undefined, entry);
  const check = (): void => {
    for (const value of ['one', 'two', 'many', 'of before', 'of later']) {
      for (const label of ['app', 'tier', 'unknown']) {
        const all = [filled, grown].map((index) => index.find({ label, value }));
        const [held, expected] = all.map(
          (found) => found && [...found.range({ key: '', exclusive: false }, undefined)],
        );
        assert.deepEqual(held, expected);
      }
    }
  };
  check();
  const changes = [
    [entries[0], entryAt(0, 'two')],
    [entries[7], undefined],
    [entries[8], entryAt(8, 'of later')],
    [undefined, entryAt(301, 'many')],
  ];
  for (const [previous, entry] of changes) for (const index of [filled, grown]) index.replace(previous, entry);
  check();
});

test('a change is offered to the watches that require its values, whatever their number', async (context) => {
  const store = openMemoryStore();
  const { cache, configMaps: collection } = await openCache(context, { store });
  let asked = 0;
  const watches = Array.from({ length: 500 }, (_, index) => {
    const app = `app-${index}`;
    const matches = (entry: { label(key: string): string | undefined }) => {
      asked++;
      return entry.label('app') === app;
    };
    return new RecordingWatch(collection, { after: cache.revision, requires: { label: 'app', value: app }, matches });
  });
  await cache.fresh();
  const { revision } = await store.create(keyOf('a'), configMap('a', { labels: { app: 'app-7' } }));
  await cache.fresh();
  assert.equal(asked, 1);
  await store.update(keyOf('a'), configMap('a', { labels: { app: 'app-8' } }), revision);
  await cache.fresh();
  assert.deepEqual(
    watches[7]?.received.map((line) => line.split(' ')[0]),
    ['ADDED', 'DELETED'],
  );
  assert.deepEqual(
    watches[8]?.received.map((line) => line.split(' ')[0]),
    ['ADDED'],
  );
  assert.ok(asked < 10, `${asked} questions`);
  for (const [index, watch] of watches.entries()) if (index !== 7 && index !== 8) assert.deepEqual(watch.received, []);
});
