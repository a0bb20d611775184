import type { SizeOf, ValuePath } from '../../cel/estimate.ts';
import type { Schema, StructSchema } from '../schema.ts';
import { isBare, visibleFields } from './visible-schema.ts';

/** How large values of a schema can be, by its limits or by what fits into a request (KEP-2876, "Resource constraints"). */

/** Bytes of a request that estimates assume, as in kube-apiserver: whatever this server accepts, they must not change. */
export const ruleRequestBytes = 3 * 1024 * 1024;

/** The longest text of a format with a type of its own. */
const formatLengths: Readonly<Record<string, number>> = { duration: 32, date: 12, 'date-time': 32 };

/** The shortest JSON of such a text. */
const formatBytesMin: Readonly<Record<string, number>> = { duration: 3, date: 12, 'date-time': 21 };

/** Bytes of a character. */
const characterBytes = 4;

/** Characters, items or keys; 0 for values without a size, which cost nothing to compare. */
function sizeMax(schema: Schema): number {
  switch (schema.type) {
    case 'string':
      return lengthMax(schema);
    case 'intOrString':
      return ruleRequestBytes - 2;
    case 'list':
      return schema.constraint?.maxItems ?? Math.floor((ruleRequestBytes - 2) / (jsonBytesMin(schema.items) + 1));
    case 'map': {
      if (isBare(schema.values)) return 0;
      // A key takes at least two quotes, and there are a colon and a comma.
      return schema.constraint?.maxProperties ?? Math.floor((ruleRequestBytes - 2) / (jsonBytesMin(schema.values) + 6));
    }
    default:
      return 0;
  }
}

function lengthMax({ constraint = {} }: Schema): number {
  const { format = '', maxLength, enum: values } = constraint;
  const ofFormat = formatLengths[format];
  if (ofFormat !== undefined) return ofFormat;
  if (maxLength !== undefined) return maxLength * (format === 'byte' ? 1 : characterBytes);
  if (values === undefined || format === 'byte') return ruleRequestBytes - 2;
  return values.reduce<number>(
    (most, each) => Math.max(most, typeof each === 'string' ? Buffer.byteLength(each) : 0),
    0,
  );
}

const bytesMin = new WeakMap<Schema, number>();

/** Bytes of the shortest JSON of a value. */
export function jsonBytesMin(schema: Schema): number {
  switch (schema.type) {
    case 'boolean':
      return 4;
    case 'integer':
    case 'number':
    case 'intOrString':
      return 1;
    case 'string':
      return formatBytesMin[schema.constraint?.format ?? ''] ?? 2;
    case 'struct': {
      const known = bytesMin.get(schema) ?? objectBytesMin(schema);
      bytesMin.set(schema, known);
      return known;
    }
    default:
      return 2;
  }
}

/** Required fields without a default, each with two quotes, a colon and a comma. */
function objectBytesMin(struct: StructSchema): number {
  const required = new Set(struct.constraint?.required);
  let bytes = 2;
  for (const { name, schema, hasDefault } of visibleFields(struct).values()) {
    if (required.has(name) && !hasDefault) bytes += Buffer.byteLength(name) + jsonBytesMin(schema) + 4;
  }
  return bytes;
}

/** The sizes of parts of `self` and `oldSelf`, which have the schema. */
export const ruleSizes =
  (schema: Schema): SizeOf =>
  (path) => {
    if (path.length === 0) return undefined;
    const max = partSizeMax(schema, path);
    return max === undefined ? undefined : { min: 0, max };
  };

function partSizeMax(schema: Schema, [, ...steps]: ValuePath): number | undefined {
  let part: Schema | undefined = schema;
  for (const step of steps) {
    // Keys have no limit, and no estimate either.
    if (step === '@keys') return part?.type === 'map' ? 0 : undefined;
    part = part && partOf(part, step);
    if (!part) return undefined;
  }
  return sizeMax(part);
}

function partOf(schema: Schema, step: string): Schema | undefined {
  if (step === '@items' || step === '@values') {
    if (schema.type === 'list') return schema.items;
    return schema.type === 'map' && !isBare(schema.values) ? schema.values : undefined;
  }
  return schema.type === 'struct' ? visibleFields(schema).get(step)?.schema : undefined;
}
