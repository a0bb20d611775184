import type { TimeSlice } from '../../base/time/time-slice.ts';
import type { CacheEntry, RangeOptions, Snapshot } from '../../cache/cache.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { Selection } from './list-options.ts';

interface Candidates {
  readonly entries: Iterable<CacheEntry>;
  /** Label of the indexed field by which they were found. */
  readonly index?: string;
}

/**
 * The entries to test against a selection, in key order: the named one, those with the required value of an indexed
 * field, or the whole range.
 */
export function candidates(
  { kind, collection }: ServedResource,
  snapshot: Snapshot,
  prefix: string,
  { name, requires }: Selection,
  range: RangeOptions = {},
): Candidates {
  const wholeKey = kind.scope === 'Cluster' || prefix !== collection.prefix;
  if (name !== undefined && wholeKey && range.after === undefined) {
    const entry = snapshot.get(prefix + name);
    return { entries: entry ? [entry] : [] };
  }
  const indexed = requires && snapshot.entriesWith(requires, prefix, range);
  return indexed ? { entries: indexed, index: requires.label } : { entries: snapshot.entries(prefix, range) };
}

/** Entries examined between checks of the time slice. */
const stride = 64;

interface Selected {
  readonly entries: readonly CacheEntry[];
  /** Entries that were tested. */
  readonly tested: number;
}

/** The first `countMax` matching entries. Yields to the event loop in time slices. */
export async function select(
  entries: Iterable<CacheEntry>,
  { matches }: Selection,
  { slice, countMax = Number.POSITIVE_INFINITY }: { readonly slice: TimeSlice; readonly countMax?: number },
): Promise<Selected> {
  const found: CacheEntry[] = [];
  let tested = 0;
  if (slice.over) await slice.next();
  for (const entry of entries) {
    if (!matches || matches(entry)) found.push(entry);
    tested++;
    if (found.length === countMax) break;
    if (tested % stride === 0 && slice.over) await slice.next();
  }
  return { entries: found, tested };
}
