import { getOwn, isRecord, setOwn } from '../../schema/own-property.ts';
import { isField, nameOf, type PathElement } from './field-path.ts';
import { type FieldNode, type FieldSet, makeNode } from './field-set.ts';
import type { ListShape, Shape } from './shape.ts';

/**
 * Returns a value without the fields of a set. A removed field is removed with everything below it. A container that
 * loses its last part stays empty, unless it is in the set itself or decoding would drop it. Leaves are unchanged.
 * Shares parts with the value; returns the value itself if nothing is removed.
 */
export function removeFields(shape: Shape, value: unknown, fields: FieldSet): unknown {
  if (fields.size === 0) return value;
  switch (shape.type) {
    case 'leaf':
      return value;
    case 'list':
      return removeFromList(shape, value, fields);
    case 'deduced':
    case 'map':
    case 'struct':
      return removeFromRecord(shape, value, fields);
  }
}

function removeFromRecord(shape: Shape, value: unknown, fields: FieldSet): unknown {
  if (!isRecord(value)) return value;
  let left: Record<string, unknown> | undefined;
  for (const [element, { member, below }] of fields) {
    const name = nameOf(element);
    const part = isField(element) ? getOwn(value, name) : undefined;
    if (part === undefined) continue;
    const partShape = partShapeOf(shape, element);
    if (!partShape) continue;
    const newPart = member ? undefined : removeFields(partShape, part, below);
    if (newPart === part) continue;
    left ??= { ...value };
    if (newPart === undefined || isAbsent(shape, name, newPart)) delete left[name];
    else setOwn(left, name, newPart);
  }
  return left ?? value;
}

const isAbsent = (shape: Shape, name: string, part: unknown): boolean =>
  shape.type === 'struct' && (shape.fields.get(name)?.isAbsent(part) ?? false);

/** The shape of a part; undefined if the schema has none for it, or if nobody can own it. */
export function partShapeOf(shape: Shape, element: PathElement): Shape | undefined {
  switch (shape.type) {
    case 'deduced':
      return isField(element) ? shape : undefined;
    case 'map':
      return isField(element) ? shape.values : undefined;
    case 'struct': {
      const field = isField(element) ? shape.fields.get(nameOf(element)) : undefined;
      return field?.owners === 'nobody' ? undefined : field?.shape;
    }
    case 'list':
      return isField(element) ? undefined : shape.items;
    case 'leaf':
      return undefined;
  }
}

function removeFromList(shape: ListShape, value: unknown, fields: FieldSet): unknown {
  if (!Array.isArray(value)) return value;
  let changed = false;
  const left: unknown[] = [];
  for (const item of value) {
    const node = fields.get(shape.elementOf(item));
    const rest = node && !node.member ? removeFields(shape.items, item, node.below) : item;
    if (rest !== item || node?.member) changed = true;
    if (!node?.member) left.push(rest);
  }
  return changed ? left : value;
}

/**
 * Adds the struct fields on the paths of the set's members. Applied sets do not contain them, since they exist only
 * with their content; map keys and list elements are members in their own right.
 */
export function withNamedFields(shape: Shape, fields: FieldSet): FieldSet {
  const out = new Map<PathElement, FieldNode>();
  for (const [element, node] of fields) {
    const partShape = partShapeOf(shape, element);
    const below = partShape ? withNamedFields(partShape, node.below) : node.below;
    const named =
      shape.type === 'struct' && partShape !== undefined && shape.fields.get(nameOf(element))?.owners === 'anyone';
    const kept = makeNode(node.member || (named && node.below.size > 0), below);
    if (kept) out.set(element, kept);
  }
  return out;
}
