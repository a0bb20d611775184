import { equalValues } from '../schema/equal-values.ts';
import { isRecord } from '../schema/own-property.ts';
import { fieldElement, type PathElement } from './fields/field-path.ts';
import {
  type FieldNode,
  type FieldSet,
  leafNode,
  makeNode,
  noFields,
  recursiveDifference,
} from './fields/field-set.ts';
import { isWhole } from './fields/fields-of.ts';
import { itemsOf } from './fields/list-items.ts';
import { type FieldShape, isEmpty, type ListShape, type Shape, type StructShape } from './fields/shape.ts';

/**
 * The differences between two values; no field is in more than one set. Added and removed containers are included with
 * all their fields; for containers in both values only the differences inside.
 */
export interface Changes {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** The changes from one value to another. Undefined if there are none, the cheap case. */
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

/** The changes without the excluded fields and everything below them. */
export function withoutFields(changes: Changes | undefined, excluded: FieldSet): Changes | undefined {
  if (!changes || excluded.size === 0) return changes;
  const added = recursiveDifference(changes.added, excluded);
  const modified = recursiveDifference(changes.modified, excluded);
  const removed = recursiveDifference(changes.removed, excluded);
  return added.size + modified.size + removed.size === 0 ? undefined : { added, modified, removed };
}

type ChangeType = keyof Changes;

/** The changes of a value and of everything below it. */
type Change = Readonly<Partial<Record<ChangeType, FieldNode>>>;

/** Undefined means absent. */
function compare(shape: Shape, old: unknown, now: unknown): Change | undefined {
  if (old === now) return undefined;
  if (old === undefined) return { added: nodeOf(shape, now) };
  if (now === undefined) return { removed: nodeOf(shape, old) };
  if (shape.type === 'leaf' || (isEmpty(old) && isEmpty(now))) return compareWhole(old, now);
  const below = new ChangesBelow();
  below.modified = old === null || now === null;
  switch (shape.type) {
    case 'deduced':
      if (isWhole(shape, old ?? now) && isWhole(shape, now ?? old)) return compareWhole(old, now);
      if (isRecord(old) !== isRecord(now)) below.modified = true;
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
  return below.change();
}

const compareWhole = (old: unknown, now: unknown): Change | undefined =>
  equalValues(old, now) ? undefined : { modified: leafNode };

/** An added or removed value with everything it contains. */
function nodeOf(shape: Shape, value: unknown): FieldNode {
  if (isWhole(shape, value) || isEmpty(value)) return leafNode;
  const below = new Map<PathElement, FieldNode>();
  switch (shape.type) {
    case 'leaf':
      break;
    case 'deduced':
    case 'map':
      addEntries(shape.type === 'map' ? shape.values : shape, value, below);
      break;
    case 'struct':
      addFields(shape, value, below);
      break;
    case 'list':
      addItems(shape, value, below);
  }
  return below.size === 0 ? leafNode : { member: true, below };
}

/** Elements with the same path element are owned as one. */
function addItems({ items, elementOf }: ListShape, list: unknown, to: Map<PathElement, FieldNode>): void {
  if (!Array.isArray(list)) return;
  for (const item of list) {
    const element = elementOf(item);
    to.set(element, to.has(element) ? leafNode : nodeOf(items, item));
  }
}

function addEntries(values: Shape, map: unknown, to: Map<PathElement, FieldNode>): void {
  if (!isRecord(map)) return;
  for (const key in map) if (map[key] !== undefined) to.set(fieldElement(key), nodeOf(values, map[key]));
}

function addFields({ fields }: StructShape, struct: unknown, to: Map<PathElement, FieldNode>): void {
  if (!isRecord(struct)) return;
  for (const name in struct) {
    const field = struct[name] === undefined ? undefined : fields.get(name);
    if (!field || field.owners === 'nobody') continue;
    const node = nodeOf(field.shape, struct[name]);
    const owned = field.owners === 'below' ? makeNode(false, node.below) : node;
    if (owned) to.set(field.element, owned);
  }
}

/** Collects the changes of the parts of a value. */
class ChangesBelow {
  /** The value itself was replaced. */
  modified = false;
  readonly #below: Partial<Record<ChangeType, Map<PathElement, FieldNode>>> = {};

  add(element: PathElement, change: Change | undefined): void {
    if (!change) return;
    if (change.added) this.put('added', element, change.added);
    if (change.modified) this.put('modified', element, change.modified);
    if (change.removed) this.put('removed', element, change.removed);
  }

  /** Call at most once for each type and element. */
  put(type: ChangeType, element: PathElement, node: FieldNode): void {
    const below = this.#below[type] ?? new Map();
    this.#below[type] = below.set(element, node);
  }

  change(): Change | undefined {
    const added = makeNode(false, this.#below.added ?? noFields);
    const modified = makeNode(this.modified, this.#below.modified ?? noFields);
    const removed = makeNode(false, this.#below.removed ?? noFields);
    if (!added && !modified && !removed) return undefined;
    return { ...(added && { added }), ...(modified && { modified }), ...(removed && { removed }) };
  }
}

function compareMaps(shape: Shape, old: unknown, now: unknown, below: ChangesBelow): void {
  const [before, after] = [partsOf(old), partsOf(now)];
  for (const name in before) {
    const part = Object.hasOwn(after, name) ? after[name] : undefined;
    if (before[name] !== part) below.add(fieldElement(name), compare(shape, before[name], part));
  }
  for (const name in after) {
    if (!Object.hasOwn(before, name)) below.add(fieldElement(name), compare(shape, undefined, after[name]));
  }
}

function compareStructs({ fields }: StructShape, old: unknown, now: unknown, below: ChangesBelow): void {
  const [before, after] = [partsOf(old), partsOf(now)];
  for (const name in before) {
    const part = Object.hasOwn(after, name) ? after[name] : undefined;
    if (before[name] !== part) compareField(fields.get(name), before[name], part, below);
  }
  for (const name in after) {
    if (!Object.hasOwn(before, name)) compareField(fields.get(name), undefined, after[name], below);
  }
}

function compareField(field: FieldShape | undefined, before: unknown, after: unknown, below: ChangesBelow): void {
  if (!field || field.owners === 'nobody') return;
  const change = compare(field.shape, before, after);
  below.add(field.element, field.owners === 'below' ? withoutItself(change) : change);
}

const noParts: Readonly<Record<string, unknown>> = Object.freeze({});

const partsOf = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : noParts);

/** Only parts of the value can be owned, so only those can change. */
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

/** Elements with the same path element are compared and owned as one. */
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
