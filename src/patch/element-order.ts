/** A value that tells the elements of a list apart: a scalar itself, or the merge key of an object. */
export type ElementKey = string | number | bigint | boolean;

interface KeyedElement {
  readonly key: ElementKey;
}

/**
 * The order of a merged list: the elements that `wanted` names come in its order, the others in that of `before`, the
 * list as it was. Where the two meet, an element that only the server knows comes before a wanted one that it stood
 * before; a wanted one that is new comes as early as it can. Example: before a b c d, wanted d x b gives a c d x b.
 * Elements that share their key stay together.
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

/** Elements without a position come last. */
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
