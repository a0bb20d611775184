import type { CacheEntry, RangeOptions, Snapshot } from '../cache/cache.ts';
import type { Selection } from './list-options.ts';
import type { ServedResource } from './resource-registry.ts';

/**
 * The entries that a selection has to look at, in order of key: the one that it names, those with the value that it
 * requires of an indexed field, or all of the range.
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
