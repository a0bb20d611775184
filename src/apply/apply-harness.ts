import { strict as assert } from 'node:assert';
import type { ApiObject, ManagedFieldsEntry } from '../meta/api-object.ts';
import { decode } from '../schema/decode.ts';
import { applyDefaults } from '../schema/defaults.ts';
import {
  anyObject,
  boolean,
  type Field,
  int32,
  list,
  map,
  optional,
  quantity,
  required,
  type StructSchema,
  string,
  struct,
  time,
} from '../schema/schema.ts';
import { applyConfiguration, keepTimesOfNothing, updateManagedFields, type WriteSource } from './apply.ts';
import { applyConflict } from './conflict.ts';
import { describePath } from './field-path.ts';
import { pathsOf } from './field-set.ts';
import { decodeFields } from './fields-v1.ts';

/** Writes as lists of operations, and what becomes of an object under them. For tests and benchmarks. */
export type Operation = ApplyOperation | UpdateOperation;

type Fields = Readonly<Record<string, unknown>>;

interface Common {
  readonly subresource?: string;
  readonly options?: Partial<WriteSource>;
}

export interface ApplyOperation extends Common {
  readonly apply: string;
  /** Beside apiVersion, kind and metadata.name. */
  readonly config: Fields;
  readonly force?: boolean;
  /** `manager: .path` of the conflicts that the apply ends with; nothing is stored then. */
  readonly conflicts?: readonly string[];
}

interface UpdateOperation extends Common {
  readonly update: string;
  /** The whole object, beside apiVersion, kind and metadata.name; or what makes it of the one that is stored. */
  readonly object: Fields | ((stored: ApiObject) => Fields);
}

export interface State {
  readonly object: ApiObject | undefined;
  /** The clock of the next operation. */
  readonly nowMs: number;
}

export const firstMs = Date.UTC(2026, 0, 1);
export const stepMs = 60_000;
export const empty: State = { object: undefined, nowMs: firstMs };

/** Runs operations one after the other, a minute apart. */
export const run = (schema: StructSchema, operations: readonly Operation[], from: State = empty): State =>
  operations.reduce((state, operation) => step(schema, operation, state), from);

export function step(schema: StructSchema, operation: Operation, { object, nowMs }: State): State {
  const next =
    'apply' in operation ? apply(schema, operation, object, nowMs) : update(schema, operation, object, nowMs);
  return { object: next, nowMs: nowMs + stepMs };
}

const sourceOf = (schema: StructSchema, manager: string, nowMs: number, { subresource = '', options }: Common) => ({
  schema,
  apiVersion: 'v1',
  manager,
  subresource,
  nowMs,
  ...options,
});

function apply(
  schema: StructSchema,
  operation: ApplyOperation,
  live: ApiObject | undefined,
  nowMs: number,
): ApiObject | undefined {
  const applied = applyConfiguration({
    ...sourceOf(schema, operation.apply, nowMs, operation),
    live,
    config: identified(operation.config),
    force: operation.force ?? false,
  });
  const conflicts = applied.type === 'conflicts' ? applied.conflicts : [];
  assert.deepEqual(
    conflicts.map(({ manager, path }) => `${manager}: ${describePath(path)}`),
    operation.conflicts ?? [],
  );
  if (applied.type === 'conflicts') {
    assert.equal(applyConflict(conflicts).code, 409);
    return live;
  }
  if (!applied.changed) return live;
  return stored(settle(schema, applied.object), live);
}

function update(
  schema: StructSchema,
  operation: UpdateOperation,
  old: ApiObject | undefined,
  nowMs: number,
): ApiObject {
  const { object } = operation;
  const sent = typeof object === 'function' ? object(structuredClone(old ?? identified({}))) : object;
  const next = settle(schema, identified(sent));
  updateManagedFields({ ...sourceOf(schema, operation.update, nowMs, operation), old, object: next });
  return stored(next, old);
}

/** As the write path ends: a write that came to nothing stores nothing. */
function stored(object: ApiObject, old: ApiObject | undefined): ApiObject {
  if (old) keepTimesOfNothing(object, old);
  // What is stored is text, and shares nothing with what was sent.
  return JSON.parse(JSON.stringify(object));
}

function settle(schema: StructSchema, object: Fields): ApiObject {
  const { value, errors } = decode(schema, object);
  assert.deepEqual(errors, []);
  applyDefaults(schema, value);
  return value as unknown as ApiObject;
}

export const identified = (fields: Fields): ApiObject => ({
  ...fields,
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { ...(fields['metadata'] as object | undefined), name: 'thing' },
});

export const entriesOf = (object: ApiObject | undefined): readonly ManagedFieldsEntry[] =>
  object?.metadata.managedFields ?? [];

/** What is stored, with these fields in place of its own. */
export const withStored =
  (fields: Fields) =>
  (stored: ApiObject): Fields => ({ ...stored, ...fields });

/** `manager/operation` or `manager/operation/subresource` -> paths of the fields it owns. */
export const ownersOf = (object: ApiObject | undefined): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(entriesOf(object).map((entry) => [ownerName(entry), pathTexts(entry.fieldsV1)]));

const ownerName = ({ manager, operation, subresource }: ManagedFieldsEntry): string =>
  [manager, operation, ...(subresource ? [subresource] : [])].join('/');

const pathTexts = (fieldsV1: unknown): readonly string[] => [...pathsOf(decodeFields(fieldsV1))].map(describePath);

/** The object's own fields: neither what identifies it nor its metadata. */
export function contentOf(object: ApiObject | undefined): Fields {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...content } = object ?? identified({});
  return content;
}

const text = 'For tests.';

const managedFieldsEntry = struct('test.ManagedFieldsEntry', text, {
  manager: optional(1, string(), text),
  operation: optional(2, string(), text),
  apiVersion: optional(3, string(), text),
  time: optional(4, time(), text, { presence: 'explicit' }),
  fieldsType: optional(6, string(), text),
  fieldsV1: optional(7, anyObject(), text, { presence: 'explicit' }),
  subresource: optional(8, string(), text),
});

const ownerReference = struct(
  'test.OwnerReference',
  text,
  {
    uid: optional(1, string(), text, { presence: 'always' }),
    name: optional(2, string(), text, { presence: 'always' }),
  },
  { structType: 'atomic' },
);

const objectMeta = struct('test.ObjectMeta', text, {
  name: optional(1, string(), text),
  generation: optional(2, int32(), text),
  uid: optional(3, string(), text),
  creationTimestamp: optional(4, time(), text, { presence: 'always' }),
  labels: optional(5, map(string()), text),
  annotations: optional(6, map(string()), text),
  resourceVersion: optional(7, string(), text),
  finalizers: optional(14, list(string(), { patchStrategy: 'merge', duplicatesAllowed: true }), text),
  ownerReferences: optional(
    13,
    list(ownerReference, { patchStrategy: 'merge', patchMergeKey: 'uid', duplicatesAllowed: true }),
    text,
  ),
  managedFields: optional(17, list(managedFieldsEntry), text),
});

/** A kind of objects with these fields. */
export const thing = (fields: Readonly<Record<string, Field>>): StructSchema =>
  struct('test.Thing', text, {
    apiVersion: optional(0, string(), text),
    kind: optional(0, string(), text),
    metadata: optional(1, objectMeta, text, { presence: 'always' }),
    ...fields,
  });

const inner = struct('test.Inner', text, {
  name: optional(1, string(), text),
  value: optional(2, int32(), text, { presence: 'explicit' }),
});

const point = struct(
  'test.Point',
  text,
  { x: optional(1, int32(), text), y: optional(2, int32(), text, { default: 7 }) },
  { structType: 'atomic' },
);

const port = struct('test.Port', text, {
  port: required(1, int32(), text),
  protocol: optional(2, string(), text, { default: 'TCP' }),
  name: optional(3, string(), text),
});

const part = struct('test.Part', text, {
  name: required(1, string(), text),
  value: optional(2, int32(), text, { presence: 'explicit' }),
  tags: optional(3, list(string(), { listType: 'set', duplicatesAllowed: true }), text),
  limits: optional(4, map(quantity()), text),
});

/** One field of each shape. */
export const allShapes: StructSchema = thing({
  text: optional(2, string(), text),
  count: optional(3, int32(), text, { presence: 'explicit', default: 1 }),
  flag: optional(4, boolean(), text),
  data: optional(5, map(string()), text),
  atomicMap: optional(6, map(string(), { mapType: 'atomic' }), text),
  inner: optional(7, inner, text, { presence: 'explicit' }),
  point: optional(8, point, text, { presence: 'explicit' }),
  set: optional(9, list(string(), { listType: 'set', duplicatesAllowed: true }), text),
  atomicList: optional(10, list(point), text),
  parts: optional(11, list(part, { listType: 'map', mapKeys: ['name'], duplicatesAllowed: true }), text),
  ports: optional(12, list(port, { listType: 'map', mapKeys: ['port', 'protocol'] }), text),
  named: optional(13, map(inner), text),
  free: optional(14, anyObject(), text, { presence: 'explicit' }),
  amount: optional(15, quantity(), text, { presence: 'explicit' }),
  status: optional(16, inner, text, { presence: 'explicit' }),
});
