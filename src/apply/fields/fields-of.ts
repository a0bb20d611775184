import { isRecord } from '../../schema/own-property.ts';
import { fieldElement, type PathElement } from './field-path.ts';
import { type FieldNode, type FieldSet, leafNode, makeNode, noFields } from './field-set.ts';
import { itemsOf } from './list-items.ts';
import { type FieldShape, isEmpty, type ListShape, type Shape, type StructShape } from './shape.ts';

/**
 * The fields that an applied value owns: leaves, map keys, additional fields, list elements, empty objects and nulls, but not
 * the structs and lists that contain them. Duplicate list elements are owned as a whole. Fields unknown to the schema are ignored.
 */
export function fieldsOf(shape: Shape, value: unknown): FieldSet {
  switch (shape.type) {
    case 'leaf':
      return noFields;
    case 'deduced':
      return isRecord(value) ? fieldsOfMap(shape, value) : noFields;
    case 'map':
      return isRecord(value) ? fieldsOfMap(shape.values, value) : noFields;
    case 'struct':
      return isRecord(value) ? fieldsOfStruct(shape, value) : noFields;
    case 'list':
      return fieldsOfList(shape, value);
  }
}

function fieldsOfMap(values: Shape, map: Readonly<Record<string, unknown>>): FieldSet {
  const fields = new Map<PathElement, FieldNode>();
  for (const key in map) {
    const below = fieldsOf(values, map[key]);
    fields.set(fieldElement(key), below.size === 0 ? leafNode : { member: true, below });
  }
  return fields;
}

function fieldsOfStruct(shape: StructShape, struct: Readonly<Record<string, unknown>>): FieldSet {
  const fields = new Map<PathElement, FieldNode>();
  for (const name in struct) {
    const field = shape.fields.get(name);
    if (!field || field.owners === 'nobody' || struct[name] === undefined) continue;
    const node = nodeOf(field, struct[name]);
    if (node) fields.set(field.element, node);
  }
  return fields;
}

function nodeOf({ shape, declared, owners }: FieldShape, value: unknown): FieldNode | undefined {
  const below = fieldsOf(shape, value);
  const isOwned = !declared || isWhole(shape, value) || (isEmpty(value) && !Array.isArray(value));
  return makeNode(owners === 'anyone' && isOwned, below);
}

/** True if the value has no parts that can be owned separately. */
export const isWhole = (shape: Shape, value: unknown): boolean =>
  shape.type === 'leaf' || (shape.type === 'deduced' && !isRecord(value));

function fieldsOfList(shape: ListShape, list: unknown): FieldSet {
  const fields = new Map<PathElement, FieldNode>();
  for (const [element, [item, ...more]] of itemsOf(shape, list)) {
    const below = more.length > 0 ? noFields : fieldsOf(shape.items, item);
    fields.set(element, below.size === 0 ? leafNode : { member: true, below });
  }
  return fields;
}
