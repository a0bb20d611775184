import { joinPath } from '../field-path.ts';
import { nestedTest } from '../nested-schemas.ts';
import { getOwn, isRecord } from '../own-property.ts';
import { type Schema, schemaOf } from '../schema.ts';

export interface EmbeddedObject {
  /** Keys of maps are in brackets. */
  readonly path: string;
  readonly object: Readonly<Record<string, unknown>>;
}

/** Whether any part of a schema is an embedded object. */
const hasEmbedded = nestedTest((schema) => schema.type === 'struct' && schema.embedded === true);

/** The objects embedded in a decoded object (`x-kubernetes-embedded-resource`), at any depth. Few kinds can have any. */
export function* embeddedObjects(schema: Schema, object: unknown): Generator<EmbeddedObject, void> {
  if (!schema.structural) return;
  if (hasEmbedded(schema)) yield* visit(schema, object, '');
}

function* visit(schema: Schema | undefined, value: unknown, path: string): Generator<EmbeddedObject, void> {
  if (schema?.type === 'any') {
    yield* visit(Array.isArray(value) ? schema.list : schema.object, value, path);
  } else if (schema?.type === 'list' && Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* visit(schema.items, item, `${path}[${index}]`);
  } else if (schema?.type === 'map' && isRecord(value)) {
    for (const key of Object.keys(value)) yield* visit(schema.values, value[key], `${path}[${key}]`);
  } else if (schema?.type === 'struct' && isRecord(value)) {
    if (schema.embedded) yield { path, object: value };
    for (const [name, field] of Object.entries(schema.fields)) {
      const part = getOwn(value, name);
      if (part !== undefined) yield* visit(schemaOf(field), part, joinPath(path, name));
    }
  }
}
