import type { ByteSpan } from '../../base/collections/byte-span.ts';
import type { CacheEntry } from '../cache.ts';
import { type SharedSlabs, sharedMemoryOf } from './shared-slabs.ts';

/** Keys of one resource, from `first` to `last` (inclusive). */
export interface KeyStretch {
  readonly prefix: string;
  readonly first: string;
  readonly last: string;
}

/** Where entries lie in shared slabs, sorted by key. Those that lie elsewhere are not among them. */
export interface SharedPlaces {
  readonly keys: readonly string[];
  readonly slabs: readonly SharedArrayBuffer[];
  /** For each key three numbers: the index of its slab, and where its bytes start and end there. */
  readonly places: Uint32Array;
}

/** Caches of other threads, which hold the same objects as this one. */
export interface CacheSharing {
  readonly slabs: SharedSlabs;
  /** This thread puts objects into shared slabs; the others use those. Changes from false to true at most. */
  readonly leads: boolean;
  /** Asks the thread that leads. Undefined if none does, or it gives no answer. */
  ask(stretch: KeyStretch): Promise<SharedPlaces | undefined>;
  /** `answer` is called with the questions of others while this thread leads, once by each cache: each answers for its resources. */
  answer(answer: (stretch: KeyStretch) => SharedPlaces | undefined): void;
}

/** What others are told of these entries. */
export function placesOf(entries: Iterable<CacheEntry>): SharedPlaces {
  const keys: string[] = [];
  const places: number[] = [];
  const slabs: SharedArrayBuffer[] = [];
  const indexes = new Map<Buffer, number>();
  for (const { key, memory, start, end } of entries) {
    const slab = sharedMemoryOf(memory);
    if (!slab) continue;
    let index = indexes.get(memory);
    if (index === undefined) {
      index = slabs.push(slab) - 1;
      indexes.set(memory, index);
    }
    keys.push(key);
    places.push(index, start, end);
  }
  return { keys, slabs, places: Uint32Array.from(places) };
}

/** `index`: of an entry among those that were asked for. */
interface FoundPlace {
  readonly index: number;
  readonly span: ByteSpan;
}

/**
 * Places in shared slabs that have the same bytes as `entries`, where those lie elsewhere. Bytes are compared: whatever
 * another thread says, no object can become another one.
 */
export function* foundPlaces(
  entries: readonly CacheEntry[],
  { keys, slabs, places }: SharedPlaces,
  known: SharedSlabs,
): IterableIterator<FoundPlace> {
  const byKey = new Map(keys.map((key, index) => [key, 3 * index]));
  const views = slabs.map((slab) => known.view(slab));
  for (const [index, entry] of entries.entries()) {
    const at = byKey.get(entry.key);
    if (at === undefined) continue;
    const [slab = 0, start = 0, end = 0] = places.subarray(at, at + 3);
    const memory = views[slab];
    if (!memory || (entry.memory === memory && entry.start === start)) continue;
    const isSame = entry.end - entry.start === end - start && end <= memory.length;
    if (isSame && entry.memory.compare(memory, start, end, entry.start, entry.end) === 0) {
      yield { index, span: { memory, start, end } };
    }
  }
}
