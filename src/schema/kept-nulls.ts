import { getOwn, isRecord, setOwn } from './own-property.ts';
import { type Schema, schemaOf } from './schema.ts';

/**
 * Puts nulls back into a decoded custom object, where decoding took them for absent ones. kube-apiserver drops such nulls
 * when it reads a body, but not from an object that was merged: there they are values, of a type that validation refuses.
 * Fields with a default get that. Decoding keeps items of lists. Modifies `decoded`.
 */
export function keepNulls(schema: Schema, sent: unknown, decoded: unknown): void {
  if (!schema.structural) return;
  if (Array.isArray(sent) && Array.isArray(decoded)) {
    const items = itemsOf(schema);
    if (items) for (const [index, item] of sent.entries()) keepNulls(items, item, decoded[index]);
  } else if (isRecord(sent) && isRecord(decoded)) {
    for (const name in sent) keepNull(partOf(schema, name), name, { sent, decoded });
  }
}

interface Objects {
  readonly sent: Record<string, unknown>;
  readonly decoded: Record<string, unknown>;
}

function keepNull(part: Part | undefined, name: string, { sent, decoded }: Objects): void {
  if (!part?.schema.structural) return;
  const value = getOwn(sent, name);
  if (value !== null) keepNulls(part.schema, value, getOwn(decoded, name));
  else if (!part.hasDefault && !Object.hasOwn(decoded, name)) setOwn(decoded, name, null);
}

interface Part {
  readonly schema: Schema;
  readonly hasDefault: boolean;
}

function partOf(schema: Schema, name: string): Part | undefined {
  if (schema.type === 'any') return schema.object && partOf(schema.object, name);
  if (schema.type === 'map') return { schema: schema.values, hasDefault: false };
  if (schema.type !== 'struct') return undefined;
  const field = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
  if (field) return { schema: schemaOf(field), hasDefault: field.default !== undefined };
  const { additional } = schema;
  return typeof additional === 'object' ? { schema: additional, hasDefault: false } : undefined;
}

function itemsOf(schema: Schema): Schema | undefined {
  if (schema.type === 'any') return schema.list?.items;
  return schema.type === 'list' ? schema.items : undefined;
}
