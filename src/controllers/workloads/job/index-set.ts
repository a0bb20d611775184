import { type Interval, intervalsOf } from '../../../kinds/batch/index-intervals.ts';

/** Indexes of a job: intervals in increasing order, which neither meet nor overlap. */
export type IndexSet = readonly Interval[];

/** Reads `1,3-5`, as far as the indexes are below `completions`: these may have become fewer. What cannot be read is left out. */
export const indexSetIn = (text: string, completions: number): IndexSet =>
  union(
    intervalsOf(text, Number.POSITIVE_INFINITY)
      .filter(({ first }) => first < completions)
      .map(({ first, last }) => ({ first, last: Math.min(last, completions - 1) })),
  );

export const indexSetOf = (indexes: readonly number[]): IndexSet =>
  union(indexes.map((index) => ({ first: index, last: index })));

export function union(...sets: readonly IndexSet[]): IndexSet {
  const result: { readonly first: number; last: number }[] = [];
  for (const { first, last } of sets.flat().sort((a, b) => a.first - b.first)) {
    const before = result.at(-1);
    if (before && first <= before.last + 1) before.last = Math.max(before.last, last);
    else result.push({ first, last });
  }
  return result;
}

export const sizeOf = (set: IndexSet): number => set.reduce((sum, { first, last }) => sum + last - first + 1, 0);

export function hasIndex(set: IndexSet, index: number): boolean {
  let [low, high] = [0, set.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((set[middle]?.last ?? 0) < index) low = middle + 1;
    else high = middle;
  }
  const range = set[low];
  return range !== undefined && range.first <= index;
}

/** As in a status: two neighbours are `1,2`, more of them `1-3`. */
export const textOf = (set: IndexSet): string =>
  set
    .map(({ first, last }) => (last === first ? `${first}` : `${first}${last === first + 1 ? ',' : '-'}${last}`))
    .join(',');

/** The first indexes below `completions` that are not in the set, `count` at most. */
export function firstOutside(set: IndexSet, completions: number, count: number): readonly number[] {
  const result: number[] = [];
  let at = 0;
  for (const { first, last } of [...set, { first: completions, last: completions }]) {
    for (; at < Math.min(first, completions) && result.length < count; at++) result.push(at);
    at = Math.max(at, last + 1);
  }
  return result;
}

/** Number of indexes in both sets. */
export function sharedSize(one: IndexSet, other: IndexSet): number {
  let [size, at, beside] = [0, 0, 0];
  while (at < one.length && beside < other.length) {
    const [a, b] = [one[at], other[beside]];
    if (!a || !b) break;
    size += Math.max(0, Math.min(a.last, b.last) - Math.max(a.first, b.first) + 1);
    if (a.last <= b.last) at++;
    if (b.last <= a.last) beside++;
  }
  return size;
}
