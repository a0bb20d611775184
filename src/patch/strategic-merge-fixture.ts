import assert from 'node:assert/strict';
import { jsonText } from '../base/json-text.ts';
import { StatusError } from '../meta/status-error.ts';
import {
  anyValue,
  type Field,
  int32,
  intOrString,
  list,
  map,
  opt,
  type Schema,
  type StructSchema,
  string,
  struct,
} from '../schema/schema.ts';
import { strategicMerge } from './strategic-merge.ts';

/** Test support for strategic merge: a kind with a field of each type, and tables of cases. */

const field = (schema: Schema | (() => Schema), options: Pick<Field, 'patchStrategy'> = {}): Field =>
  opt(1, schema, '', options);

const port: StructSchema = struct('Port', '', { number: field(int32()), protocol: field(string()) });
const part: StructSchema = struct('Part', '', {
  name: field(string()),
  image: field(string()),
  args: field(list(string())),
  env: field(() => list(part, { patchStrategy: 'merge', patchMergeKey: 'name' })),
  ports: field(list(port, { patchStrategy: 'merge', patchMergeKey: 'number' })),
  attributes: field(map(string())),
});
const schema: StructSchema = struct('Thing', '', {
  title: field(string()),
  count: field(int32()),
  target: field(intOrString()),
  /** Merged by name. */
  parts: field(list(part, { patchStrategy: 'merge', patchMergeKey: 'name' })),
  /** Merged by name; clients send `$retainKeys`. */
  volumes: field(list(part, { patchStrategy: 'merge,retainKeys', patchMergeKey: 'name' })),
  /** Merged scalars. */
  marks: field(list(string(), { patchStrategy: 'merge' })),
  numbers: field(list(int32(), { patchStrategy: 'merge' })),
  /** Replaced as a whole. */
  words: field(list(string())),
  rules: field(list(part)),
  labels: field(map(string())),
  groups: field(map(list(string()))),
  byName: field(map(part)),
  nested: field(() => schema),
  strategy: field(part, { patchStrategy: 'retainKeys' }),
  whole: field(part, { patchStrategy: 'replace' }),
  raw: field(anyValue()),
  matrix: field(list(list(string()), { patchStrategy: 'merge' })),
  keyless: field(list(part, { patchStrategy: 'merge' })),
});

export type Json = Record<string, unknown>;
export const merged = (original: Json, patch: unknown): Json => strategicMerge({ schema, original, patch });

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) freeze(each);
    Object.freeze(value);
  }
  return value;
}

type Case = readonly [rule: string, original: Json, patch: Json, result: Json];

/** The order of list elements is compared, that of fields is not. */
export function check(cases: readonly Case[]): void {
  for (const [rule, original, patch, result] of cases) {
    assert.deepEqual(merged(freeze(original), freeze(patch)), result, rule);
  }
}

export const named = (...names: string[]): Json[] => names.map((name) => ({ name }));

/** The error of a patch; fails if it applies. */
export function refusal(original: Json, patch: unknown): StatusError {
  try {
    merged(original, patch);
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return error;
  }
  return assert.fail(`applied: ${jsonText(patch)}`);
}
