import { limits } from '../../base/limits.ts';
import { encodeObject } from '../../codec/json.ts';
import { validateScaled } from '../../kinds/autoscaling/scale.ts';
import { storesObjects } from '../../kinds/kind.ts';
import { validateEmbeddedObjects } from '../../kinds/meta/embedded-metadata-validation.ts';
import { validateObjectMeta } from '../../kinds/meta/metadata-validation.ts';
import { allErrors } from '../../kinds/validation.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, required } from '../../meta/field-error.ts';
import { alreadyExists, badRequest, conflict, entityTooLarge, invalidObject } from '../../meta/status-error.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { isRecord } from '../../schema/own-property.ts';
import { validateRules } from '../../schema/rules/validate-rules.ts';
import { validate } from '../../schema/validate.ts';
import { type BatchWrite, isStoreError, type Revision, StoreError } from '../../store/store.ts';
import { toStatusError } from '../store-errors.ts';
import type { RegistryParts } from '../verb.ts';
import { claimWrites, isClaimTaken } from './claims.ts';
import { decodeObject } from './decode-body.ts';
import { requireObjectSize } from './object-size.ts';

type Parts = Pick<RegistryParts, 'resources' | 'store' | 'clock'>;

interface PreparedWrite {
  readonly served: ServedResource;
  readonly name: string;
  readonly key: string;
  /** In the form in which objects are written. */
  readonly object: ApiObject;
  readonly value: Buffer;
}

/** The write with the value in the version to be stored. */
const stored = async (write: PreparedWrite): Promise<PreparedWrite> => ({
  ...write,
  value: await write.served.toStored(write.object, write.value, {}),
});

/**
 * Creates objects as they were, for restore and import: bypasses admission and strategies, and keeps uid, times,
 * generation, managed fields and status. Only the resourceVersion is new. For commands; not reachable by requests.
 *
 * All objects are checked before anything is written, as for a create: kind and scope, types, unknown fields, metadata, schema,
 * rules, values of a Scale, duplicate keys. They are then one batch of the store (`Store.batch`): all are created or none, also if one of them
 * exists or holds a value that another one holds, the disk is full or the process ends. Objects of several stores
 * (`--etcd-servers-overrides`) are no batch and fail, too. Input too large for one batch is a 413 and nothing is written; only the
 * caller knows how to split it and how to handle a partial restore. With an unknown outcome (504) all may exist, or
 * none.
 */
export async function writeRaw(parts: Parts, objects: readonly unknown[]): Promise<readonly Revision[]> {
  if (objects.length > limits.storeBatchWritesMax) {
    throw entityTooLarge(`a raw write has at most ${limits.storeBatchWritesMax} objects, not ${objects.length}`);
  }
  const servedKinds = servedByKind(parts);
  const prepared: PreparedWrite[] = [];
  for (const object of objects) {
    const found = prepare(servedKinds, object, parts.clock);
    prepared.push(found instanceof Promise ? await found : found);
  }
  const writes: PreparedWrite[] = [];
  for (const write of prepared) writes.push(await stored(write));
  refuseDuplicates(writes);
  return commit(parts, writes);
}

function servedByKind({ resources }: Parts): ReadonlyMap<string, ServedResource> {
  const found = new Map<string, ServedResource>();
  for (const served of resources.all()) {
    if (storesObjects(served.kind)) found.set(`${served.apiVersion} ${served.kind.kind}`, served);
  }
  return found;
}

function prepare(
  servedKinds: ReadonlyMap<string, ServedResource>,
  value: unknown,
  clock: Parts['clock'],
): PreparedWrite | Promise<PreparedWrite> {
  if (!isRecord(value)) throw badRequest('what is to be written must be an object');
  const { apiVersion, kind: kindName } = value;
  const served = servedKinds.get(`${apiVersion} ${kindName}`);
  if (!served) throw badRequest(`no kind ${JSON.stringify(kindName)} is stored in ${JSON.stringify(apiVersion)}`);
  const object = decodeObject(value, served.kind, (problems) => {
    if (problems.length > 0) throw badRequest(`strict decoding error: ${problems.join(', ')}`);
  });
  const kind = served.written;
  const { name = '', namespace = '' } = object.metadata;
  delete object.metadata.resourceVersion;
  const found = [
    ...missing(object, served),
    ...validateObjectMeta(kind, object),
    ...validateEmbeddedObjects(kind.schema, object),
    ...validate(kind.schema, object),
  ];
  const write = (errors: readonly FieldError[]): PreparedWrite => {
    if (errors.length > 0) throw invalidObject(kind, name, errors);
    const encoded = encodeObject(object);
    requireObjectSize(encoded);
    return { served, name, key: served.objectKey(namespace, name), object, value: encoded };
  };
  const ofRules = validateRules(kind.schema, object, { errors: found, clock });
  const errors = allErrors(found, ofRules, validateScaled(kind, object, ''));
  return errors instanceof Promise ? errors.then(write) : write(errors);
}

/** Metadata that every stored object has, although clients need not send it. */
function missing({ metadata }: ApiObject, { kind }: ServedResource): readonly FieldError[] {
  const fields = [
    'uid',
    'creationTimestamp',
    ...(kind.scope === 'Namespaced' ? (['namespace'] as const) : []),
  ] as const;
  const absent = fields.filter((field) => !metadata[field]).map((field) => required(`metadata.${field}`));
  const misplaced = kind.scope === 'Cluster' && metadata.namespace ? [{ ...notNamespaced }] : [];
  return [...absent, ...misplaced];
}

const notNamespaced: FieldError = {
  type: 'FieldValueForbidden',
  field: 'metadata.namespace',
  detail: 'not allowed on this type',
};

function refuseDuplicates(writes: readonly PreparedWrite[]): void {
  const keys = new Set<string>();
  for (const { key, served, name } of writes) {
    if (keys.has(key)) throw alreadyExists(served.name, name);
    keys.add(key);
  }
}

async function commit({ store, resources }: Parts, writes: readonly PreparedWrite[]): Promise<readonly Revision[]> {
  try {
    const claims: BatchWrite[] = [];
    for (const { served, key, object } of writes) {
      const { written: kind } = served;
      const { scope } = resources;
      claims.push(...(await claimWrites(store, { kind, scope, key, before: undefined, after: object })));
    }
    const created = writes.map(({ key, value }) => ({ verb: 'create', key, value }) as const);
    const committed = await store.batch([...created, ...claims]);
    return committed.slice(0, writes.length).map(({ revision }) => revision);
  } catch (error) {
    if (isStoreError(error, 'tooLarge')) {
      const message = `the data store does not take ${writes.length} objects of this size at once: ${error.message}`;
      throw entityTooLarge(message, { cause: error });
    }
    if (isClaimTaken(error)) throw conflict(noName, '', `somebody else holds ${error.key}`);
    const failed = error instanceof StoreError ? writes.find(({ key }) => key === error.key) : undefined;
    throw toStatusError(error, failed?.served.name ?? noName, failed?.name ?? '');
  }
}

const noName = { group: '', resource: '' };
