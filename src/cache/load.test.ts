import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { limits } from '../base/limits.ts';
import { DecoratedStore } from '../store/decorated-store.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import { openSqliteStore } from '../store/drivers/sqlite/sqlite-store.ts';
import { type ListOptions, type Page, StoreError, type StoreRecord } from '../store/store.ts';
import { configMap, configMaps, keyOf, nodes, openCache } from './cache-fixture.ts';
import { readPages } from './load.ts';

/** A store with so many records of so many bytes, and how long the pages were that it was asked for. */
function storeOf(count: number, bytes: number) {
  const asked: number[] = [];
  const all = Array.from({ length: count }, (_, at) => `/${String(at).padStart(6, '0')}`);
  return {
    asked,
    list: async (_prefix: string, { after = '', limit = 0 }: ListOptions = {}): Promise<Page> => {
      asked.push(limit);
      const rest = all.filter((key) => key > after);
      const value = Buffer.alloc(bytes);
      const records = rest.slice(0, limit).map((key): StoreRecord => ({ key, value, revision: 1 }));
      return { records, revision: 1, remaining: rest.length - records.length };
    },
  };
}

const first = limits.cacheFirstPageMax;

/** Records, bytes of each, and the pages after the first one. */
const cases: readonly (readonly [count: number, bytes: number, pages: (limit: number) => boolean])[] = [
  [0, 0, () => false],
  [first, 10, () => false],
  [5_000, 100, (limit) => limit === limits.cacheLoadPageMax],
  [500, limits.cacheLoadPageBytes / 20, (limit) => limit >= 15 && limit <= 20],
  [first + 3, limits.cacheLoadPageBytes * 2, (limit) => limit === 1],
];

for (const [count, bytes, isExpected] of cases) {
  test(`pages are bounded in bytes: ${count} records of ${bytes} bytes`, async () => {
    const store = storeOf(count, bytes);
    const seen: string[] = [];
    for await (const records of readPages(store, '/', { at: 1 })) seen.push(...records.map(({ key }) => key));
    assert.equal(seen.length, count);
    assert.deepEqual(seen, seen.toSorted(), 'in order');
    const [limit, ...others] = store.asked;
    assert.equal(limit, first);
    assert.ok(others.every(isExpected), others.join(', '));
    assert.equal(others.length > 0, count > first);
  });
}

test('pages are read ahead, not all of them, and an error comes when it is its turn', async () => {
  const store = storeOf(5_000, 100);
  const refusing = {
    list: (prefix: string, options?: ListOptions): Promise<Page> =>
      store.asked.length < 4 ? store.list(prefix, options) : Promise.reject(new StoreError('unavailable', 'gone')),
  };
  const pages = readPages(refusing, '/', { at: 1 });
  assert.equal((await pages.next()).value?.length, first);
  await setImmediate();
  assert.equal(store.asked.length, 3);
  for (let page = 0; page < 3; page++) assert.equal((await pages.next()).value?.length, limits.cacheLoadPageMax);
  await assert.rejects(pages.next(), StoreError);
});

test('objects lie where they came from the data file, next to each other, and lists are sent from there', async (context) => {
  const store = await openSqliteStore({ file: join(folderFor(context), 'data.db') });
  context.after(() => store.close());
  const names = Array.from({ length: 1_500 }, (_, at) => `m${String(at).padStart(4, '0')}`);
  const data = 'x'.repeat(1_000);
  const writes = names.map((name) => store.create(keyOf(name), configMap(name, { data })));
  const revisions = await Promise.all(writes);
  await store.create(keyOf('n'), configMap('n', { data: 'y'.repeat(200_000) }));
  await store.create(keyOf('o'), Buffer.from('damaged'));
  const listed = new Set<ArrayBufferLike>();
  const watched = new (class extends DecoratedStore {
    override async list(prefix: string, options?: ListOptions): Promise<Page> {
      const page = await super.list(prefix, options);
      if (options?.room !== undefined) for (const { value } of page.records) listed.add(value.buffer);
      return page;
    }
  })(store);
  const { cache, configMaps: collection } = await openCache(context, { store: watched });
  const snapshot = cache.collection(configMaps.prefix).snapshot();
  const entries = [...snapshot.entries(configMaps.prefix)];
  assert.equal(entries.length, names.length + 1);
  assert.ok(entries.every(({ memory }) => listed.has(memory.buffer)));
  assert.deepEqual([...snapshot.corrupt.keys()], [keyOf('o')]);
  for (const [at, name] of names.entries()) {
    const { kind, apiVersion, metadata, ...rest } = JSON.parse(configMap(name, { data }).toString());
    const resourceVersion = String(revisions[at]?.revision);
    const expected = { kind, apiVersion, metadata: { resourceVersion, ...metadata }, ...rest };
    assert.equal(collection.get(keyOf(name))?.bytes.toString(), JSON.stringify(expected));
  }
  const runs = [...snapshot.runs(configMaps.prefix)];
  assert.ok(runs.length < 60, `${runs.length} runs`);
  const text = runs.map(({ memory, start, end }) => memory.toString('utf8', start, end)).join(',');
  assert.deepEqual(
    JSON.parse(`[${text}]`).map(({ metadata }: { metadata: { name: string } }) => metadata.name),
    [...names, 'n'],
  );
});

function folderFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'load-'));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** What is in the store, by key, and how often it is asked for a page when it is loaded. */
const contents: readonly (readonly [
  what: string,
  content: { readonly groups?: number; readonly maps?: number; readonly nodes?: number; readonly scoped?: number },
  questions: (asked: number) => boolean,
])[] = [
  ['nothing', {}, (asked) => asked === 1],
  ['few objects', { groups: 3, maps: 40, nodes: 2 }, (asked) => asked === 1],
  ['as many as the first page', { maps: first }, (asked) => asked === 1],
  ['more than the first page', { maps: 60, nodes: 300 }, (asked) => asked === 2],
  ['many of what comes first', { maps: 3_000, nodes: 3 }, (asked) => asked > 4],
  ['many of what comes last', { maps: 3, nodes: 3_000 }, (asked) => asked > 4],
  ['many of kinds that are not served', { groups: 3_000, maps: 3, nodes: 2 }, (asked) => asked > 2],
  ['many of other scopes', { scoped: 3_000, maps: 3, nodes: 2 }, (asked) => asked === 1],
];

for (const [what, { groups = 0, maps = 0, nodes: ofNodes = 0, scoped = 0 }, questions] of contents) {
  test(`a cache loads all that is its own: ${what}`, async (context) => {
    const store = openMemoryStore();
    const put = async (count: number, prefix: string): Promise<void> => {
      for (let at = 0; at < count; at++) await store.create(`${prefix}n${at}`, configMap(`n${at}`, { namespace: 'a' }));
    };
    await put(groups, '/apps/others/a/');
    await put(maps, `${configMaps.prefix}a/`);
    await put(ofNodes, nodes.prefix);
    await put(scoped, `/.scopes/s${configMaps.prefix}a/`);
    let asked = 0;
    const counted = new (class extends DecoratedStore {
      override list(prefix: string, options?: ListOptions): Promise<Page> {
        asked++;
        return super.list(prefix, options);
      }
    })(store);
    const { cache } = await openCache(context, { store: counted });
    const sizes = [configMaps, nodes].map(({ prefix }) => cache.collection(prefix).snapshot().count(prefix));
    assert.deepEqual(sizes, [maps, ofNodes]);
    assert.ok(questions(asked), String(asked));
  });
}

test('a store that does not give all of its beginning is asked for each resource', async (context) => {
  const store = openMemoryStore();
  await store.create('/apps/others/a/damaged', Buffer.from('x'));
  await store.create(`${nodes.prefix}n`, configMap('n'));
  const refusing = new (class extends DecoratedStore {
    override async list(prefix: string, options?: ListOptions): Promise<Page> {
      if ('/apps/others/a/damaged'.startsWith(prefix)) throw new StoreError('corrupt', 'the value cannot be read');
      return super.list(prefix, options);
    }
  })(store);
  const { cache } = await openCache(context, { store: refusing });
  assert.equal(cache.collection(nodes.prefix).snapshot().count(nodes.prefix), 1);
});
