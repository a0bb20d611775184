import type { TimeSlice } from '../../base/time/time-slice.ts';
import type { CacheEntry, RangeOptions, Snapshot } from '../../cache/cache.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { Selection } from './list-options.ts';

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
): Iterable<CacheEntry> {
  const wholeKey = kind.scope === 'Cluster' || prefix !== collection.prefix;
  if (name !== undefined && wholeKey && range.after === undefined) {
    const entry = snapshot.get(prefix + name);
    return entry ? [entry] : [];
  }
  return (requires && snapshot.entriesWith(requires, prefix, range)) ?? snapshot.entries(prefix, range);
}

/** Entries examined between checks of the time slice. */
const stride = 64;

/** The first `countMax` matching entries. Yields to the event loop in time slices. */
export async function select(
  entries: Iterable<CacheEntry>,
  { matches }: Selection,
  { slice, countMax = Number.POSITIVE_INFINITY }: { readonly slice: TimeSlice; readonly countMax?: number },
): Promise<readonly CacheEntry[]> {
  const found: CacheEntry[] = [];
  let looked = 0;
  if (slice.over) await slice.next();
  for (const entry of entries) {
    if (!matches || matches(entry)) found.push(entry);
    if (found.length === countMax) break;
    looked++;
    if (looked % stride === 0 && slice.over) await slice.next();
  }
  return found;
}
