/** Identifies an element of a list: a scalar itself, or the merge key of an object. */
export type ElementKey = string | number | bigint | boolean;

interface KeyedElement {
  readonly key: ElementKey;
}

/**
 * Orders a merged list: elements in `wanted` have that order, the others the order of `before`, the list before the
 * patch. Where the two are interleaved, another element precedes a wanted one that it preceded before; a new wanted
 * element comes as early as possible. Example: before a b c d, wanted d x b gives a c d x b. Elements with the same key
 * stay together.
 */
export function arrange<E extends KeyedElement>(
  merged: readonly E[],
  wanted: Iterable<ElementKey>,
  before: Iterable<ElementKey>,
): E[] {
  const wantedAt = positions(wanted);
  const beforeAt = positions(before);
  const patched = merged.filter(({ key }) => wantedAt.has(key)).sort(by(wantedAt));
  const others = merged.filter(({ key }) => !wantedAt.has(key)).sort(by(beforeAt));
  return interleave(others, patched, beforeAt);
}

function positions(keys: Iterable<ElementKey>): Map<ElementKey, number> {
  const at = new Map<ElementKey, number>();
  for (const key of keys) if (!at.has(key)) at.set(key, at.size);
  return at;
}

/** Elements without a position are last. */
const by =
  (at: ReadonlyMap<ElementKey, number>) =>
  (a: KeyedElement, b: KeyedElement): number =>
    (at.get(a.key) ?? at.size) - (at.get(b.key) ?? at.size);

function interleave<E extends KeyedElement>(
  others: readonly E[],
  patched: readonly E[],
  beforeAt: ReadonlyMap<ElementKey, number>,
): E[] {
  const result: E[] = [];
  let next = 0;
  for (const element of patched) {
    const limit = beforeAt.get(element.key) ?? -1;
    for (let other = others[next]; other && stoodBefore(other, limit, beforeAt); other = others[++next]) {
      result.push(other);
    }
    result.push(element);
  }
  return [...result, ...others.slice(next)];
}

const stoodBefore = (element: KeyedElement, limit: number, beforeAt: ReadonlyMap<ElementKey, number>): boolean =>
  (beforeAt.get(element.key) ?? limit) < limit;
