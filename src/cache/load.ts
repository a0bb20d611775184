import { SortedEntries } from '../base/collections/sorted-entries.ts';
import { limits } from '../base/limits.ts';
import type { Clock } from '../base/time/clock.ts';
import { TimeSlice } from '../base/time/time-slice.ts';
import { versionBytes } from '../codec/object-bytes.ts';
import type { ListOptions, Page, Revision, Store, StoreRecord } from '../store/store.ts';
import type { CacheEntry } from './cache.ts';
import { type EntryCodec, entryRoom } from './entries/entry-codec.ts';
import { ownMemory, SlabSequence } from './entries/slab.ts';
import type { LoadedState, ResourceCollection } from './resource-collection.ts';
import { type CacheSharing, foundPlaces } from './sharing/shared-entries.ts';

/** Pages that are read while one is processed: a store with a thread of its own is then never waited for, nor waits. */
const pagesAhead = 2;

/**
 * Pages of the records under a prefix at one revision, in key order. Those that follow are read while one is processed. The
 * first page is short and tells how long the others may be: where all objects are large, long ones would take hundreds of
 * megabytes, which stay with the process.
 */
export async function* readPages(
  store: Pick<Store, 'list'>,
  prefix: string,
  options: Pick<ListOptions, 'room'> & { readonly at: Revision },
): AsyncGenerator<readonly StoreRecord[], void> {
  const each = { ...options, remaining: 'whether' } as const;
  const following = async (before: Promise<Page | undefined>): Promise<Page | undefined> => {
    const { records = [], remaining = 0 } = (await before) ?? {};
    const after = records.at(-1)?.key;
    if (remaining === 0 || after === undefined) return undefined;
    return store.list(prefix, { ...each, limit: lengthOfPages(records), after });
  };
  let last: Promise<Page | undefined> = store.list(prefix, { ...each, limit: limits.cacheFirstPageMax });
  const pages = [last];
  for (;;) {
    while (pages.length <= pagesAhead) {
      last = following(last);
      // Its error surfaces when it is awaited, possibly later.
      last.catch(() => {});
      pages.push(last);
    }
    const page = await pages.shift();
    if (!page) return;
    yield page.records;
  }
}

/** How many records a page may have, if all are about as large as these. */
function lengthOfPages(records: readonly StoreRecord[]): number {
  const average = weightOf(records) / records.length;
  return Math.max(1, Math.min(limits.cacheLoadPageMax, Math.floor(limits.cacheLoadPageBytes / average)));
}

/** Total bytes of the entries of records, each with its comma. */
function weightOf(records: readonly StoreRecord[]): number {
  let bytes = 0;
  for (const { value, revision } of records) bytes += value.length + versionBytes(revision) + 1;
  return bytes;
}

/** The first records of a store, in order of key. */
interface FirstRecords {
  readonly records: readonly StoreRecord[];
  /** There are no others. */
  readonly areAll: boolean;
}

/** Behind all keys of the server itself and of scopes, of which there may be many, and before those of resources. */
const beforeResources = '/.\uffff';

/**
 * Reads the beginning of a store, to be shared by all resources of which it has everything: most are empty or small, and one
 * question is cheaper than one for each. Nothing if the store refuses, as for a value that cannot be read: whom that concerns
 * will hear of it.
 */
export async function readFirst(store: Pick<Store, 'list'>, at: Revision): Promise<FirstRecords> {
  const remaining = 'whether';
  try {
    const first = await store.list('/', { at, limit: limits.cacheFirstPageMax, after: beforeResources, remaining });
    const after = first.records.at(-1)?.key;
    if (after === undefined || first.remaining === 0) return { records: first.records, areAll: true };
    const next = await store.list('/', { at, limit: lengthOfPages(first.records), after, remaining });
    return { records: [...first.records, ...next.records], areAll: next.remaining === 0 };
  } catch {
    return { records: [], areAll: false };
  }
}

/** The records under a prefix, in pages; from the first ones of the store where those have all of them. */
function pagesOf(
  { store, first, at, sharing }: LoadSource,
  prefix: string,
): AsyncIterable<readonly StoreRecord[]> | Iterable<readonly StoreRecord[]> {
  const last = first?.records.at(-1)?.key ?? '';
  // Prefixes are ASCII: the order of keys by UTF-8 is that of text up to where they differ.
  const isComplete = first?.areAll === true || (last > prefix && !last.startsWith(prefix));
  if (!first || !isComplete || prefix < beforeResources) {
    // Shared memory is not the store's.
    return readPages(store, prefix, sharing?.leads ? { at } : { at, room: entryRoom });
  }
  const records = first.records.filter(({ key }) => key.startsWith(prefix));
  return records.length === 0 ? [] : [records];
}

interface LoadSource {
  readonly store: Pick<Store, 'list'>;
  /** Default: the resource is read by itself. */
  readonly first?: FirstRecords;
  readonly at: Revision;
  readonly sharing?: CacheSharing | undefined;
}

/** Loads a whole resource at one revision. Of no use if the resource changes its form meanwhile, see `LoadedState.codec`. */
export async function load(
  source: LoadSource,
  collection: ResourceCollection,
  clock: Pick<Clock, 'monotonic'>,
): Promise<LoadedState> {
  const slice = new TimeSlice(clock);
  const { codec } = collection;
  const { sharing } = source;
  const memory = sharing?.leads ? sharing.slabs.allocate : ownMemory;
  const entries: CacheEntry[] = [];
  const corrupt = new Map<string, Revision>();
  for await (const records of pagesOf(source, collection.prefix)) {
    const slabs = new SlabSequence(weightOf(records.filter(({ room }) => !room)), memory);
    const page: CacheEntry[] = [];
    for (const record of records) {
      if (slice.over) await slice.next();
      const ready = codec.ready?.(clock, record.value);
      if (ready) await ready;
      const entry = collection.tryDecode(record, slabs.place);
      if (entry) page.push(entry);
      else {
        corrupt.set(record.key, record.revision);
        collection.reportCorrupt(record);
      }
    }
    if (sharing && !sharing.leads) await adoptPage(page, { prefix: collection.prefix, codec, sharing });
    for (const entry of page) entries.push(entry);
  }
  const { length } = entries;
  const fetched = length + corrupt.size;
  collection.metrics.listedFromStore({ fetched, evaluated: fetched, returned: length });
  return { revision: source.at, entries: SortedEntries.fromSorted(entries), corrupt, codec };
}

/** Lets entries refer to the memory of other threads as they are loaded, so that no thread ever has all of them for itself. */
async function adoptPage(
  page: CacheEntry[],
  { prefix, codec, sharing }: { readonly prefix: string; readonly codec: EntryCodec; readonly sharing: CacheSharing },
): Promise<void> {
  for (let from = 0; from < page.length; ) {
    const part = partOf(page, from);
    const [first, last] = [part[0], part.at(-1)];
    const places = first && last && (await sharing.ask({ prefix, first: first.key, last: last.key }));
    if (!places) return;
    for (const { index, span } of foundPlaces(part, places, sharing.slabs)) {
      page[from + index] = codec.at(part[index] as CacheEntry, span);
    }
    from += part.length;
  }
}

/** What one question to another thread is about. */
const partBytes = 512 * 1024;

function partOf(page: readonly CacheEntry[], from: number): readonly CacheEntry[] {
  let bytes = 0;
  let to = from;
  for (; to < page.length && bytes < partBytes; to++) {
    const { start, end } = page[to] as CacheEntry;
    bytes += end - start;
  }
  return page.slice(from, to);
}
