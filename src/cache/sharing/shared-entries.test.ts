import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { until } from '../../base/waits-fixture.ts';
import { openMemoryStore } from '../../store/drivers/memory/memory-store.ts';
import type { Store } from '../../store/store.ts';
import type { CacheEntry, Collection } from '../cache.ts';
import { configMap, configMaps, keyOf, openCache } from '../cache-fixture.ts';
import { isNext } from '../entries/slab.ts';
import type { CacheSharing, KeyStretch, SharedPlaces } from './shared-entries.ts';
import { SharedSlabs, sharedMemoryOf } from './shared-slabs.ts';

/** Caches of one store, as threads have them: the first one leads. */
class Threads {
  readonly #answers: ((stretch: KeyStretch) => SharedPlaces | undefined)[] = [];
  leader = 0;
  asked = 0;
  /** What the leader's answers become on their way. */
  spoil: (places: SharedPlaces) => SharedPlaces | undefined = (places) => places;

  sharing(thread: number): CacheSharing {
    const threads = this;
    return {
      slabs: new SharedSlabs(thread + 1),
      get leads() {
        return threads.leader === thread;
      },
      answer: (answer) => {
        this.#answers[thread] = answer;
      },
      ask: async (stretch) => {
        this.asked += 1;
        const places = this.#answers[this.leader]?.(stretch);
        // As a message brings it: other objects for the same memory.
        return places && this.spoil(structuredClone(places));
      },
    };
  }

  async open(context: TestContext, store: Store, thread: number) {
    return openCache(context, { store, sharing: this.sharing(thread) });
  }
}

const name = (index: number): string => `m${String(index).padStart(5, '0')}`;
const count = 3 * limits.cacheScatteredMin;

async function filled(): Promise<Store> {
  const store = openMemoryStore();
  const data = 'x'.repeat(1_000);
  for (let index = 0; index < count; index++) await store.create(keyOf(name(index)), configMap(name(index), { data }));
  return store;
}

const entriesOf = (collection: Collection): readonly CacheEntry[] => [
  ...collection.snapshot().entries(configMaps.prefix),
];
const texts = (collection: Collection): readonly string[] => entriesOf(collection).map(({ bytes }) => bytes.toString());
const breaksIn = (collection: Collection): number => {
  const entries = entriesOf(collection);
  return entries.filter((entry, index) => index > 0 && !isNext(entries[index - 1] as CacheEntry, entry)).length;
};

/** How many objects of a cache lie at the same places as those of another one. */
function common(one: Collection, other: Collection): number {
  const places = (collection: Collection) =>
    new Map(
      entriesOf(collection).map(({ key, memory, start }) => {
        const shared = sharedMemoryOf(memory);
        return [key, shared && `${new Float64Array(shared, 0, 1)[0]} ${start}`] as const;
      }),
    );
  const [a, b] = [places(one), places(other)];
  return [...a].filter(([key, place]) => place !== undefined && b.get(key) === place).length;
}

test('a thread that starts uses the memory of the one that leads, and lists as well from it', async (context) => {
  const [threads, store] = [new Threads(), await filled()];
  const { configMaps: first } = await threads.open(context, store, 0);
  const { configMaps: second } = await threads.open(context, store, 1);
  assert.equal(common(first, second), count);
  assert.deepEqual(texts(second), texts(first));
  assert.equal(breaksIn(second), breaksIn(first));
  assert.ok(breaksIn(second) < 20, `${breaksIn(second)} breaks`);
  const labels = entriesOf(second).map((entry) => entry.field('metadata.name'));
  assert.deepEqual(
    labels,
    entriesOf(first).map((entry) => entry.field('metadata.name')),
  );
});

test('what is written later is shared at a sweep, whichever thread has it first', async (context) => {
  const [threads, store] = [new Threads(), await filled()];
  const one = await threads.open(context, store, 0);
  const other = await threads.open(context, store, 1);
  for (let index = 0; index < count; index += 2) {
    const { revision = 0 } = (await store.get(keyOf(name(index)))) ?? {};
    await store.update(keyOf(name(index)), configMap(name(index), { labels: { changed: 'yes' } }), revision);
  }
  await Promise.all([one.cache.fresh(), other.cache.fresh()]);
  assert.ok(common(one.configMaps, other.configMaps) <= count / 2);
  other.clock.advance(limits.cacheSweepMs);
  await until(() => common(one.configMaps, other.configMaps) === count);
  assert.deepEqual(texts(other.configMaps), texts(one.configMaps));
  assert.equal(other.configMaps.get(keyOf(name(0)))?.label('changed'), 'yes');
  // The one that leads has nothing to move any more, so the others keep what they have.
  one.clock.advance(limits.cacheSweepMs);
  await one.cache.fresh();
  assert.equal(common(one.configMaps, other.configMaps), count);
});

test('a thread that takes the lead goes on with the memory that is there', async (context) => {
  const [threads, store] = [new Threads(), await filled()];
  const first = await threads.open(context, store, 0);
  const second = await threads.open(context, store, 1);
  const memory = entriesOf(second.configMaps)[0]?.memory;
  await first.cache.close();
  threads.leader = 1;
  const third = await threads.open(context, store, 2);
  assert.equal(common(second.configMaps, third.configMaps), count);
  assert.equal(entriesOf(second.configMaps)[0]?.memory, memory);
});

for (const [what, spoil] of [
  ['other bytes', ({ slabs, ...places }) => ({ ...places, slabs: slabs.map(() => new SharedArrayBuffer(300_000)) })],
  ['places beyond the memory', ({ places, ...rest }) => ({ ...rest, places: places.map((at) => at * 1_000) })],
  ['places of other objects', ({ keys, ...rest }) => ({ ...rest, keys: keys.toReversed() })],
  ['no places', () => undefined],
] as const satisfies readonly (readonly [string, (places: SharedPlaces) => SharedPlaces | undefined])[]) {
  test(`a thread that is told ${what} has its own memory`, async (context) => {
    const [threads, store] = [new Threads(), await filled()];
    threads.spoil = spoil;
    const { configMaps: first } = await threads.open(context, store, 0);
    const { configMaps: second } = await threads.open(context, store, 1);
    assert.ok(threads.asked > 0);
    assert.ok(common(first, second) <= threads.asked, 'but for one in the middle');
    assert.deepEqual(texts(second), texts(first));
  });
}

test('slabs are known again by their number, and forgotten', async () => {
  const [mine, theirs] = [new SharedSlabs(1), new SharedSlabs(2)];
  const slab = mine.allocate(100);
  const memory = sharedMemoryOf(slab) ?? assert.fail('not shared');
  assert.equal(slab.length, 100);
  assert.equal(mine.view(memory), slab);
  const sent = structuredClone(memory);
  assert.notEqual(sent, memory);
  assert.equal(mine.view(sent), slab);
  const view = theirs.view(sent);
  assert.equal(theirs.view(memory), view);
  slab.write('text', 10);
  assert.equal(view.toString('latin1', 10, 14), 'text');
  assert.notEqual(theirs.view(sharedMemoryOf(theirs.allocate(100)) ?? memory), view);
});
