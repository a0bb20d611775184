import { isRecord } from '../schema/own-property.ts';
import { equalValues } from './equal-values.ts';
import { fieldElement, type PathElement } from './field-path.ts';
import { type FieldNode, type FieldSet, leafNode, makeNode, noFields, recursiveDifference } from './field-set.ts';
import { isWhole } from './fields-of.ts';
import { itemsOf } from './list-items.ts';
import { isEmpty, type ListShape, type Shape, type StructShape } from './shape.ts';

/**
 * What is different between two values; no field is in more than one of the sets. Containers that came or went are in
 * them with all they hold; of those that are in both values, only what is different within.
 */
export interface Changes {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** The changes from one value to another. Undefined when there are none, which is the cheap case. */
export function compareValues(shape: Shape, old: unknown, now: unknown): Changes | undefined {
  const change = compare(shape, old, now);
  return (
    change && {
      added: change.added?.below ?? noFields,
      modified: change.modified?.below ?? noFields,
      removed: change.removed?.below ?? noFields,
    }
  );
}

/** The changes outside some fields and all that is below those. */
export function withoutFields(changes: Changes | undefined, excluded: FieldSet): Changes | undefined {
  if (!changes || excluded.size === 0) return changes;
  const added = recursiveDifference(changes.added, excluded);
  const modified = recursiveDifference(changes.modified, excluded);
  const removed = recursiveDifference(changes.removed, excluded);
  return added.size + modified.size + removed.size === 0 ? undefined : { added, modified, removed };
}

type ChangeType = keyof Changes;

/** The changes of a value and what is below it. */
type Change = Readonly<Partial<Record<ChangeType, FieldNode>>>;

/** Undefined values are absent. */
function compare(shape: Shape, old: unknown, now: unknown): Change | undefined {
  if (old === now) return undefined;
  if (shape.type === 'leaf' || (isEmpty(old) && isEmpty(now))) return compareWhole(old, now);
  const below = new ChangesBelow();
  below.modified = (old === null && now !== undefined) || (now === null && old !== undefined);
  switch (shape.type) {
    case 'deduced':
      if (isWhole(shape, old ?? now) && isWhole(shape, now ?? old)) return compareWhole(old, now);
      if (isRecord(old) !== isRecord(now)) below.modified = old !== undefined && now !== undefined;
      compareMaps(shape, old, now, below);
      break;
    case 'map':
      compareMaps(shape.values, old, now, below);
      break;
    case 'struct':
      compareStructs(shape, old, now, below);
      break;
    case 'list':
      compareLists(shape, old, now, below);
  }
  return below.change(old === undefined, now === undefined);
}

const compareWhole = (old: unknown, now: unknown): Change | undefined => {
  if (old === undefined) return now === undefined ? undefined : { added: leafNode };
  if (now === undefined) return { removed: leafNode };
  return equalValues(old, now) ? undefined : { modified: leafNode };
};

/** Collects the changes of the parts of a value. */
class ChangesBelow {
  /** The value itself became another. */
  modified = false;
  readonly #below: Partial<Record<ChangeType, Map<PathElement, FieldNode>>> = {};

  add(element: PathElement, change: Change | undefined): void {
    if (!change) return;
    if (change.added) this.put('added', element, change.added);
    if (change.modified) this.put('modified', element, change.modified);
    if (change.removed) this.put('removed', element, change.removed);
  }

  /** Once for each type and element. */
  put(type: ChangeType, element: PathElement, node: FieldNode): void {
    const below = this.#below[type] ?? new Map();
    this.#below[type] = below.set(element, node);
  }

  change(isAdded: boolean, isRemoved: boolean): Change | undefined {
    const added = makeNode(isAdded, this.#below.added ?? noFields);
    const modified = makeNode(this.modified, this.#below.modified ?? noFields);
    const removed = makeNode(isRemoved, this.#below.removed ?? noFields);
    if (!added && !modified && !removed) return undefined;
    return { ...(added && { added }), ...(modified && { modified }), ...(removed && { removed }) };
  }
}

function compareMaps(shape: Shape, old: unknown, now: unknown, below: ChangesBelow): void {
  for (const [key, before, after] of parts(old, now)) below.add(fieldElement(key), compare(shape, before, after));
}

function compareStructs({ fields }: StructShape, old: unknown, now: unknown, below: ChangesBelow): void {
  for (const [name, before, after] of parts(old, now)) {
    const field = fields.get(name);
    if (!field || field.owners === 'nobody') continue;
    const change = compare(field.shape, before, after);
    below.add(field.element, field.owners === 'below' ? withoutItself(change) : change);
  }
}

/** Parts of two objects by name, where they are not one and the same. */
function parts(old: unknown, now: unknown): (readonly [name: string, before: unknown, after: unknown])[] {
  const before = isRecord(old) ? old : {};
  const after = isRecord(now) ? now : {};
  const found: (readonly [string, unknown, unknown])[] = [];
  for (const name in before) {
    const part = Object.hasOwn(after, name) ? after[name] : undefined;
    if (before[name] !== part) found.push([name, before[name], part]);
  }
  for (const name in after) if (!Object.hasOwn(before, name)) found.push([name, undefined, after[name]]);
  return found;
}

/** Of what only parts have owners, only those can change. */
function withoutItself(change: Change | undefined): Change | undefined {
  const below: Partial<Record<ChangeType, FieldNode>> = {};
  for (const type of ['added', 'modified', 'removed'] as const) {
    const node = makeNode(false, change?.[type]?.below ?? noFields);
    if (node) below[type] = node;
  }
  return below;
}

function compareLists(shape: ListShape, old: unknown, now: unknown, below: ChangesBelow): void {
  const [before, after] = [itemsOf(shape, old), itemsOf(shape, now)];
  for (const [element, items] of before) compareItems(shape, element, items, after.get(element) ?? [], below);
  for (const [element, items] of after) if (!before.has(element)) compareItems(shape, element, [], items, below);
}

/** Elements that share their path element are compared, and owned, as one. */
function compareItems(
  shape: ListShape,
  element: PathElement,
  before: readonly unknown[],
  after: readonly unknown[],
  below: ChangesBelow,
): void {
  if (before.length < 2 && after.length < 2) below.add(element, compare(shape.items, before[0], after[0]));
  else if (before.length > 1 && after.length > 1) {
    if (!equalValues(before, after)) below.put('modified', element, leafNode);
  } else if (before.length > 1) {
    if (after.length > 0) below.add(element, compare(shape.items, undefined, after[0]));
    below.put('removed', element, leafNode);
  } else {
    if (before.length > 0) below.add(element, compare(shape.items, before[0], undefined));
    below.put('added', element, leafNode);
  }
}
