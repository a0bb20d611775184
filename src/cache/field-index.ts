import { type ReadonlySortedEntries, SortedEntries } from '../base/collections/sorted-entries.ts';
import type { CacheEntry, RequiredField } from './cache.ts';

/** Most values occur in one object only, which needs no tree. */
type Entries = CacheEntry | SortedEntries<CacheEntry>;

/** Index of a collection's entries by the values of some of their fields. */
export class FieldIndex {
  readonly #byLabel: ReadonlyMap<string, Map<string, Entries>>;

  constructor(labels: readonly string[]) {
    this.#byLabel = new Map(labels.map((label) => [label, new Map()]));
  }

  /** Replaces `previous` with `entry`, an entry of the same key. Either may be undefined. */
  replace(previous: CacheEntry | undefined, entry: CacheEntry | undefined): void {
    for (const [label, byValue] of this.#byLabel) {
      const before = previous?.field(label);
      const now = entry?.field(label);
      if (previous && before !== undefined && before !== now) remove(byValue, before, previous.key);
      if (entry && now !== undefined) add(byValue, now, entry);
    }
  }

  /** Replaces the whole content with entries in key order. */
  fill(entries: () => Iterable<CacheEntry>): void {
    for (const [label, byValue] of this.#byLabel) {
      byValue.clear();
      const grouped = new Map<string, CacheEntry[]>();
      for (const entry of entries()) {
        const value = entry.field(label);
        if (value === undefined) continue;
        const group = grouped.get(value);
        if (group) group.push(entry);
        else grouped.set(value, [entry]);
      }
      for (const [value, group] of grouped) {
        const [first] = group;
        if (first) byValue.set(value, group.length === 1 ? first : SortedEntries.fromSorted(group));
      }
    }
  }

  clear(): void {
    for (const byValue of this.#byLabel.values()) byValue.clear();
  }

  /** Snapshot of the entries with that value; undefined if the field is not indexed. */
  find({ label, value }: RequiredField): ReadonlySortedEntries<CacheEntry> | undefined {
    const byValue = this.#byLabel.get(label);
    if (!byValue) return undefined;
    const there = byValue.get(value);
    return there instanceof SortedEntries ? there.snapshot() : SortedEntries.fromSorted(there ? [there] : []);
  }
}

function add(byValue: Map<string, Entries>, value: string, entry: CacheEntry): void {
  const there = byValue.get(value);
  if (there instanceof SortedEntries) there.set(entry);
  else if (there === undefined || there.key === entry.key) byValue.set(value, entry);
  else {
    const entries = SortedEntries.fromSorted([there]);
    entries.set(entry);
    byValue.set(value, entries);
  }
}

function remove(byValue: Map<string, Entries>, value: string, key: string): void {
  const there = byValue.get(value);
  if (!(there instanceof SortedEntries)) {
    if (there?.key === key) byValue.delete(value);
    return;
  }
  there.delete(key);
  if (there.size === 0) byValue.delete(value);
}
