import { strict as assert } from 'node:assert';
import { jsonText } from '../base/json-text.ts';
import { parseStored } from '../codec/json.ts';
import type { ApiObject, ManagedFieldsEntry } from '../meta/api-object.ts';
import { decode } from '../schema/decode.ts';
import { applyDefaults } from '../schema/defaults.ts';
import {
  always,
  anyObject,
  bool,
  type Field,
  int32,
  list,
  map,
  opt,
  ptr,
  quantity,
  req,
  type StructSchema,
  string,
  struct,
  time,
} from '../schema/schema.ts';
import { applyConfiguration, keepTimesOfNoOp, updateManagedFields, type WriteSource } from './apply.ts';
import { applyConflict } from './conflict.ts';
import { describePath } from './fields/field-path.ts';
import { pathsOf } from './fields/field-set.ts';
import { decodeFields } from './fields/fields-v1.ts';

/** Test and benchmark support: sequences of writes, and the resulting object. */
export type Operation = ApplyOperation | UpdateOperation;

type Fields = Readonly<Record<string, unknown>>;

interface Common {
  readonly subresource?: string;
  readonly options?: Partial<WriteSource>;
}

export interface ApplyOperation extends Common {
  readonly apply: string;
  /** Without apiVersion, kind and metadata.name. */
  readonly config: Fields;
  readonly force?: boolean;
  /** Expected conflicts, as `manager: .path`; nothing is stored then. */
  readonly conflicts?: readonly string[];
}

interface UpdateOperation extends Common {
  readonly update: string;
  /** The whole object without apiVersion, kind and metadata.name, or a function that derives it from the stored one. */
  readonly object: Fields | ((stored: ApiObject) => Fields);
}

export interface State {
  readonly object: ApiObject | undefined;
  /** Time of the next operation. */
  readonly nowMs: number;
}

export const firstMs = Date.UTC(2026, 0, 1);
export const stepMs = 60_000;
export const empty: State = { object: undefined, nowMs: firstMs };

/** Runs operations in sequence, a minute apart. */
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

/** The end of the write path: a no-op write stores nothing. */
function stored(object: ApiObject, old: ApiObject | undefined): ApiObject {
  if (old) keepTimesOfNoOp(object, old);
  // Stored objects are serialized and share nothing with the request.
  return parseStored(Buffer.from(jsonText(object))) as ApiObject;
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

/** The stored object with some fields replaced. */
export const withStored =
  (fields: Fields) =>
  (stored: ApiObject): Fields => ({ ...stored, ...fields });

/** `manager/operation` or `manager/operation/subresource` -> paths of the owned fields. */
export const ownersOf = (object: ApiObject | undefined): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(entriesOf(object).map((entry) => [ownerName(entry), pathTexts(entry.fieldsV1)]));

const ownerName = ({ manager, operation, subresource }: ManagedFieldsEntry): string =>
  [manager, operation, ...(subresource ? [subresource] : [])].join('/');

const pathTexts = (fieldsV1: unknown): readonly string[] =>
  [...pathsOf(decodeFields(fieldsV1))].map(describePath).sort();

/** The object without apiVersion, kind and metadata. */
export function contentOf(object: ApiObject | undefined): Fields {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...content } = object ?? identified({});
  return content;
}

const text = 'For tests.';

const managedFieldsEntry = struct('test.ManagedFieldsEntry', text, {
  manager: opt(1, string(), text),
  operation: opt(2, string(), text),
  apiVersion: opt(3, string(), text),
  time: ptr(4, time(), text),
  fieldsType: opt(6, string(), text),
  fieldsV1: ptr(7, anyObject(), text),
  subresource: opt(8, string(), text),
});

const ownerReference = struct(
  'test.OwnerReference',
  text,
  {
    uid: always(1, string(), text),
    name: always(2, string(), text),
  },
  { structType: 'atomic' },
);

const objectMeta = struct('test.ObjectMeta', text, {
  name: opt(1, string(), text),
  generation: opt(2, int32(), text),
  uid: opt(3, string(), text),
  creationTimestamp: always(4, time(), text),
  labels: opt(5, map(string()), text),
  annotations: opt(6, map(string()), text),
  resourceVersion: opt(7, string(), text),
  finalizers: opt(14, list(string(), { patchStrategy: 'merge', duplicatesAllowed: true }), text),
  ownerReferences: opt(
    13,
    list(ownerReference, { patchStrategy: 'merge', patchMergeKey: 'uid', duplicatesAllowed: true }),
    text,
  ),
  managedFields: opt(17, list(managedFieldsEntry), text),
});

/** A kind with these fields. */
export const thing = (fields: Readonly<Record<string, Field>>): StructSchema =>
  struct('test.Thing', text, {
    apiVersion: opt(0, string(), text),
    kind: opt(0, string(), text),
    metadata: always(1, objectMeta, text),
    ...fields,
  });

const inner = struct('test.Inner', text, {
  name: opt(1, string(), text),
  value: ptr(2, int32(), text),
});

const point = struct(
  'test.Point',
  text,
  { x: opt(1, int32(), text), y: opt(2, int32(), text, { default: 7 }) },
  { structType: 'atomic' },
);

const port = struct('test.Port', text, {
  port: req(1, int32(), text),
  protocol: opt(2, string(), text, { default: 'TCP' }),
  name: opt(3, string(), text),
});

const part = struct('test.Part', text, {
  name: req(1, string(), text),
  value: ptr(2, int32(), text),
  tags: opt(3, list(string(), { listType: 'set', duplicatesAllowed: true }), text),
  limits: opt(4, map(quantity()), text),
});

/** One field of each shape. */
export const allShapes: StructSchema = thing({
  text: opt(2, string(), text),
  count: ptr(3, int32(), text, { default: 1 }),
  flag: opt(4, bool(), text),
  data: opt(5, map(string()), text),
  atomicMap: opt(6, map(string(), { mapType: 'atomic' }), text),
  inner: ptr(7, inner, text),
  point: ptr(8, point, text),
  set: opt(9, list(string(), { listType: 'set', duplicatesAllowed: true }), text),
  atomicList: opt(10, list(point), text),
  parts: opt(11, list(part, { listType: 'map', mapKeys: ['name'], duplicatesAllowed: true }), text),
  ports: opt(12, list(port, { listType: 'map', mapKeys: ['port', 'protocol'] }), text),
  named: opt(13, map(inner), text),
  free: ptr(14, anyObject(), text),
  amount: ptr(15, quantity(), text),
  status: ptr(16, inner, text),
});
