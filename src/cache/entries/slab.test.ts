import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ByteSpan } from '../../base/collections/byte-span.ts';
import { limits } from '../../base/limits.ts';
import { until } from '../../base/waits-fixture.ts';
import { openMemoryStore } from '../../store/drivers/memory/memory-store.ts';
import type { CacheEntry, Collection, RangeOptions } from '../cache.ts';
import { configMap, configMaps, keyOf, openCache } from '../cache-fixture.ts';
import { isNext, runsOf, SlabSequence, slabBytes, WrittenPlaces } from './slab.ts';

test('objects that fit are contiguous; a larger one has a slab of its own', () => {
  const sizes = [10, 20, slabBytes / 2, slabBytes, 5, 3 * slabBytes, 7, 9];
  const slabs = new SlabSequence(sizes.reduce((sum, size) => sum + size + 1, 0));
  const spans = sizes.map((size) => slabs.place(size));
  for (const [index, { memory, start, end }] of spans.entries()) {
    assert.equal(end - start, sizes[index]);
    assert.ok(end <= memory.length);
  }
  const joined = spans.map((span, index) => index > 0 && isNext(spans[index - 1] ?? span, span));
  assert.deepEqual(joined, [false, true, true, false, false, false, false, true]);
  const runs = runsOf(spans).map(({ memory, start, end }) => [
    spans.findIndex((span) => span.memory === memory),
    start,
    end,
  ]);
  assert.deepEqual(
    runs,
    [
      [0, 2],
      [3, 3],
      [4, 4],
      [5, 5],
      [6, 7],
    ].map(([first = 0, last = 0]) => [first, spans[first]?.start, spans[last]?.end]),
  );
  assert.deepEqual(runsOf([]), []);
});

test('written objects share small slabs once there are many, and retain no more than a part of what was written', () => {
  const written = new WrittenPlaces();
  const count = 1_000;
  const placesOf = (): readonly ByteSpan[] =>
    Array.from({ length: count }, (_, index) => written.place(900 + (index % 200)));
  const spans = placesOf();
  const memories = new Set(spans.map(({ memory }) => memory));
  assert.ok(memories.size < count / 8, `${memories.size} allocations`);
  let bytes = 0;
  for (const [index, { memory, start, end }] of spans.entries()) {
    bytes += end - start + 1;
    assert.equal(end - start, 900 + (index % 200));
    assert.ok(memory.length <= Math.max(end - start, bytes / 4), `${memory.length} bytes when ${bytes} are written`);
    const before = spans[index - 1];
    if (before?.memory === memory) assert.ok(isNext(before, { memory, start, end }));
  }
  assert.equal(written.place(100_000).memory.length, 100_000, 'a large object has memory of its own');
  written.reset();
  assert.equal(written.place(1_000).memory.length, 1_000, 'little is written');
});

const list = (collection: Collection): readonly CacheEntry[] => [...collection.snapshot().entries(configMaps.prefix)];
const breaks = (entries: readonly CacheEntry[]): number =>
  entries.filter((entry, index) => index > 0 && !isNext(entries[index - 1] as CacheEntry, entry)).length;
const pieceOf = ({ memory, start, end }: ByteSpan): string => memory.toString('utf8', start, end);
/**
 * Checks that runs have the bytes of the entries, for the whole collection and parts of it. Returns the number of runs of the
 * whole.
 */
function checkRuns(collection: Collection): number {
  const snapshot = collection.snapshot();
  const entries = list(collection);
  const keyAt = (index: number): string => entries[index]?.key ?? '';
  const cuts = [0, 1, 63, 64, 65, entries.length >> 1, entries.length - 1];
  const ranges: readonly RangeOptions[] = [
    {},
    ...cuts.map((cut) => ({ after: keyAt(cut) })),
    ...cuts.map((cut) => ({ before: keyAt(cut) })),
    ...cuts.map((cut) => ({ after: keyAt(cut), before: keyAt(cut + 70) })),
  ];
  for (const range of ranges) {
    const shown = [...snapshot.entries(configMaps.prefix, range)];
    const { after, before } = range;
    assert.deepEqual(
      shown,
      entries.filter(({ key }) => !(after && key <= after) && !(before && key >= before)),
    );
    assert.equal([...snapshot.runs(configMaps.prefix, range)].map(pieceOf).join(), shown.map(pieceOf).join());
    assert.equal(snapshot.count(configMaps.prefix, range), shown.length);
    for (const limit of [
      1,
      2,
      64,
      (shown.length >> 1) + 1,
      shown.length || 1,
      shown.length + 1,
      Number.MAX_SAFE_INTEGER,
    ]) {
      const [last, next] = [shown[limit - 1], shown[limit]];
      const expected = last && next && { last, next, remaining: shown.length - limit };
      assert.deepEqual(snapshot.cut(configMaps.prefix, range, limit), expected);
    }
  }
  return [...snapshot.runs(configMaps.prefix)].length;
}
const texts = (entries: readonly CacheEntry[]): readonly string[] => entries.map(({ bytes }) => bytes.toString());

test('loaded objects are contiguous; written ones are after a sweep, and nothing else changes', async (context) => {
  const store = openMemoryStore();
  const count = limits.cacheScatteredMin + 50;
  const name = (index: number) => `m${String(index).padStart(4, '0')}`;
  const revisions = await Promise.all(
    Array.from({ length: count }, (_, index) => store.create(keyOf(name(index)), configMap(name(index)))),
  );
  const { cache, clock, configMaps: collection } = await openCache(context, { store });
  // They came in two pages.
  assert.ok(breaks(list(collection)) <= 1);
  const runsWhenLoaded = checkRuns(collection);
  assert.ok(runsWhenLoaded <= count / 30, `${runsWhenLoaded} runs`);
  // Backwards: those written in order would be neighbours.
  for (const [index, { revision }] of [...revisions.entries()].toReversed()) {
    const app = index % 3 === 0 ? 'web' : 'db';
    await store.update(keyOf(name(index)), configMap(name(index), { labels: { app } }), revision);
  }
  await cache.fresh();
  checkRuns(collection);
  const before = collection.snapshot();
  const shown = texts(list(collection));
  assert.ok(breaks(list(collection)) > 100);
  clock.advance(limits.cacheSweepMs);
  await until(() => breaks(list(collection)) === 0);
  assert.ok(checkRuns(collection) <= runsWhenLoaded);
  assert.deepEqual(texts(list(collection)), shown);
  assert.deepEqual(texts([...before.entries(configMaps.prefix)]), shown);
  const web = [...(collection.snapshot().entriesWith({ label: 'app', value: 'web' }, configMaps.prefix) ?? [])];
  assert.deepEqual(
    web,
    list(collection).filter((entry) => entry.label('app') === 'web'),
  );
  // Writes continue, and reads find them.
  const { revision } = await store.create(keyOf('z'), configMap('z'));
  await cache.fresh();
  assert.equal(list(collection).at(-1)?.revision, revision);
});
