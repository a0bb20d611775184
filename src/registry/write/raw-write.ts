import { limits } from '../../base/limits.ts';
import { encodeObject } from '../../codec/json.ts';
import { storesObjects } from '../../kinds/kind.ts';
import { validateObjectMeta } from '../../kinds/meta/metadata-validation.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, required } from '../../meta/field-error.ts';
import { alreadyExists, badRequest, invalidObject } from '../../meta/status-error.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { isRecord } from '../../schema/own-property.ts';
import { validate } from '../../schema/validate.ts';
import type { Revision, Store } from '../../store/store.ts';
import { toStatusError } from '../store-errors.ts';
import type { RegistryParts } from '../verb.ts';
import { decodeObject } from './decode-body.ts';
import { requireObjectSize } from './object-size.ts';

type Parts = Pick<RegistryParts, 'resources' | 'store'>;

interface PreparedWrite {
  readonly served: ServedResource;
  readonly name: string;
  readonly key: string;
  readonly value: Buffer;
}

/**
 * Creates objects as they once were, for restore and import: below admission and strategies, with the uid, times, generation,
 * owners of fields and status that they say. Only their resourceVersion is new. For commands; no request leads here.
 *
 * All are checked before anything is written: kind and scope, types, no unknown field, metadata and schema, no two of one
 * key, none that is there. Where a write fails all the same (others write to the store meanwhile, the disk is full), those
 * that were done are removed again, and the error of the first is thrown. A process that ends meanwhile leaves what the store
 * has by then: SQLite commits a batch that fits into one group as one transaction, etcd each object by itself. Objects of a
 * write with an unknown outcome may be there or come.
 */
export async function writeRaw(parts: Parts, objects: readonly unknown[]): Promise<readonly Revision[]> {
  if (objects.length > limits.rawWriteObjectsMax) {
    throw badRequest(`a raw write may have no more than ${limits.rawWriteObjectsMax} objects`);
  }
  const servedKinds = servedByKind(parts);
  const writes = objects.map((object) => prepare(servedKinds, object));
  refuseTwice(writes);
  const present = await Promise.all(writes.map(({ key }) => parts.store.get(key)));
  const [taken] = writes.filter((_, index) => present[index]);
  if (taken) throw alreadyExists(taken.served.name, taken.name);
  return commit(parts.store, writes);
}

function servedByKind({ resources }: Parts): ReadonlyMap<string, ServedResource> {
  const found = new Map<string, ServedResource>();
  for (const served of resources.all()) {
    if (storesObjects(served.kind)) found.set(`${served.apiVersion} ${served.kind.kind}`, served);
  }
  return found;
}

function prepare(servedKinds: ReadonlyMap<string, ServedResource>, value: unknown): PreparedWrite {
  if (!isRecord(value)) throw badRequest('what is to be written must be an object');
  const { apiVersion, kind: kindName } = value;
  const served = servedKinds.get(`${apiVersion} ${kindName}`);
  if (!served) throw badRequest(`no kind ${JSON.stringify(kindName)} is stored in ${JSON.stringify(apiVersion)}`);
  const object = decodeObject(value, served.kind, (problems) => {
    if (problems.length > 0) throw badRequest(`strict decoding error: ${problems.join(', ')}`);
  });
  const { kind } = served.resource;
  const { name = '', namespace = '' } = object.metadata;
  delete object.metadata.resourceVersion;
  const errors = [...missing(object, served), ...validateObjectMeta(kind, object), ...validate(kind.schema, object)];
  if (errors.length > 0) throw invalidObject(kind, name, errors);
  const encoded = encodeObject(object);
  requireObjectSize(encoded);
  return { served, name, key: served.objectKey(namespace, name), value: encoded };
}

/** What every stored object has, and no client has to say. */
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

function refuseTwice(writes: readonly PreparedWrite[]): void {
  const keys = new Set<string>();
  for (const { key, served, name } of writes) {
    if (keys.has(key)) throw alreadyExists(served.name, name);
    keys.add(key);
  }
}

/** Sent in one turn, so that a store that groups writes commits them together. */
async function commit(store: Store, writes: readonly PreparedWrite[]): Promise<readonly Revision[]> {
  const outcomes = await Promise.allSettled(writes.map(({ key, value }) => store.create(key, value)));
  const revisions: Revision[] = [];
  let failure: unknown;
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') revisions.push(outcome.value.revision);
    else failure ??= toStatusError(outcome.reason, writes[index]?.served.name ?? noName, writes[index]?.name ?? '');
  }
  if (failure === undefined) return revisions;
  // What cannot be removed either, by a store that is gone, stays; the error says why the store is.
  await Promise.allSettled(
    outcomes.map((outcome, index) =>
      outcome.status === 'fulfilled' ? store.delete(writes[index]?.key ?? '', outcome.value.revision) : undefined,
    ),
  );
  throw failure;
}

const noName = { group: '', resource: '' };
