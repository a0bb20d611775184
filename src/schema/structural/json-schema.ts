import { getOwn, isRecord } from '../own-property.ts';

/**
 * A node of `openAPIV3Schema`: decoded JSON from a client or the store. Members are read through the functions below, which
 * treat null and zero values as absent, as Go's JSON does, and never see inherited properties.
 */
export type JsonSchema = Readonly<Record<string, unknown>>;

const none: JsonSchema = {};
const noSchemas: readonly never[] = [];

/** The value as a schema; anything else than an object counts as an empty one. */
export const asSchema = (value: unknown): JsonSchema => (isRecord(value) ? value : none);

/** The member's value; undefined if it is absent or null. */
export const memberOf = (schema: JsonSchema, name: string): unknown => getOwn(schema, name) ?? undefined;

export function textOf(schema: JsonSchema, name: string): string | undefined {
  const value = memberOf(schema, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A text whose emptiness has a meaning: of a pointer in Go. */
export function anyTextOf(schema: JsonSchema, name: string): string | undefined {
  const value = memberOf(schema, name);
  return typeof value === 'string' ? value : undefined;
}

export const isTrue = (schema: JsonSchema, name: string): boolean => memberOf(schema, name) === true;

/** Limits are doubles and 64-bit integers in Go; beyond 2^53 the nearest double serves for both. */
export function numberOf(schema: JsonSchema, name: string): number | undefined {
  const value = memberOf(schema, name);
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined;
}

/** A non-empty list of texts. */
export function textsOf(schema: JsonSchema, name: string): readonly string[] | undefined {
  const value = memberOf(schema, name);
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.filter((each): each is string => typeof each === 'string');
}

/** A nested schema; undefined if the member is absent or no object. */
export function schemaIn(schema: JsonSchema, name: string): JsonSchema | undefined {
  const value = memberOf(schema, name);
  return isRecord(value) ? value : undefined;
}

/** The schemas of a member that is a list. */
export function schemasIn(schema: JsonSchema, name: string): readonly JsonSchema[] {
  const value = memberOf(schema, name);
  return Array.isArray(value) ? value.map(asSchema) : noSchemas;
}

/** The schemas of a member that holds schemas by name. */
export function namedSchemasIn(schema: JsonSchema, name: string): readonly (readonly [string, JsonSchema])[] {
  const value = memberOf(schema, name);
  return isRecord(value) ? Object.keys(value).map((key) => [key, asSchema(value[key])]) : noSchemas;
}

/** True if the member holds at least one schema by name. */
export function hasSchemas(schema: JsonSchema, name: string): boolean {
  const value = memberOf(schema, name);
  if (isRecord(value)) for (const _ in value) return true;
  return false;
}

/** One of the schemas of a member that holds schemas by name. */
export function namedSchemaIn(schema: JsonSchema, name: string, key: string): JsonSchema | undefined {
  const value = memberOf(schema, name);
  return isRecord(value) && Object.hasOwn(value, key) ? asSchema(value[key]) : undefined;
}

/** `additionalProperties`: a schema, or whether any are allowed. */
export function additionalOf(schema: JsonSchema): JsonSchema | boolean | undefined {
  const value = memberOf(schema, 'additionalProperties');
  return typeof value === 'boolean' || isRecord(value) ? value : undefined;
}
