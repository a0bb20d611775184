import type { PathElement } from './field-path.ts';
import type { ListShape } from './shape.ts';

/** List elements by path element, in order of first appearance; several items are duplicates. */
type ListItems = ReadonlyMap<PathElement, readonly [unknown, ...unknown[]]>;

export function itemsOf({ elementOf }: ListShape, list: unknown): ListItems {
  const items = new Map<PathElement, [unknown, ...unknown[]]>();
  if (!Array.isArray(list)) return items;
  for (const item of list) {
    const element = elementOf(item);
    const same = items.get(element);
    if (same) same.push(item);
    else items.set(element, [item]);
  }
  return items;
}
