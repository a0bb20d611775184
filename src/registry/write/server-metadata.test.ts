import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import { configMap, entriesOf, Managers } from './managers-fixture.ts';

/**
 * Metadata that only the server sets, sent by clients on every kind of write: nobody comes to own it, and its value
 * does not change.
 */

type Metadata = Readonly<Record<string, unknown>>;

/** One way to write; `live` is the existing object, if any. */
interface Way {
  readonly name: string;
  /** The initial state: no object, an object, or a terminating one. */
  readonly live: 'nothing' | 'object' | 'deleted';
  readonly write: (managers: Managers, metadata: Metadata, live: ApiObject | undefined) => Promise<ApiObject>;
}

const put = (managers: Managers, metadata: Metadata, live: ApiObject | undefined): Promise<ApiObject> => {
  const { managedFields: _managed, resourceVersion: _version, ...kept } = live?.metadata ?? { name: 'a' };
  return managers.update('me', configMap, { metadata: { ...kept, labels: { by: 'me' }, ...metadata } });
};
const labelled = (metadata: Metadata): Metadata => ({ labels: { by: 'me' }, ...metadata });
const apply: Way['write'] = (managers, metadata) =>
  managers.apply('me', configMap, { metadata: labelled(metadata) }, '&force=true');
const merge: Way['write'] = (managers, metadata) => managers.merge('me', configMap, { metadata: labelled(metadata) });

const ways: readonly Way[] = [
  {
    name: 'create',
    live: 'nothing',
    write: (managers, metadata) => managers.create('me', configMap, { metadata: labelled(metadata) }),
  },
  { name: 'apply that creates', live: 'nothing', write: apply },
  { name: 'apply', live: 'object', write: apply },
  { name: 'update', live: 'object', write: put },
  { name: 'patch', live: 'object', write: merge },
  { name: 'apply to what is being deleted', live: 'deleted', write: apply },
  { name: 'update of what is being deleted', live: 'deleted', write: put },
  { name: 'patch of what is being deleted', live: 'deleted', write: merge },
];

/** Fields with values that differ from the server's. */
const fields: Metadata = {
  uid: '00000000-0000-4000-8000-000000000000',
  resourceVersion: '7',
  generation: 7,
  creationTimestamp: '2020-01-01T00:00:00Z',
  deletionTimestamp: '2020-01-01T00:00:00Z',
  deletionGracePeriodSeconds: 7,
  selfLink: '/a/b',
  managedFields: [{ manager: 'x', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} }],
};

/** Preconditions and immutable fields are rejected; all others are ignored. */
const refusals: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  uid: {
    'apply that creates': 409,
    apply: 422,
    update: 409,
    patch: 422,
    'apply to what is being deleted': 422,
    'update of what is being deleted': 409,
    'patch of what is being deleted': 422,
  },
  resourceVersion: {
    create: 400,
    'apply that creates': 409,
    apply: 409,
    update: 409,
    patch: 409,
    'apply to what is being deleted': 409,
    'update of what is being deleted': 409,
    'patch of what is being deleted': 409,
  },
  deletionTimestamp: { apply: 422, update: 422, patch: 422 },
  deletionGracePeriodSeconds: { apply: 422, update: 422, patch: 422 },
  managedFields: { 'apply that creates': 400, apply: 400, 'apply to what is being deleted': 400 },
};

async function prepare(managers: Managers, live: Way['live']): Promise<ApiObject | undefined> {
  if (live === 'nothing') return undefined;
  const finalizers = live === 'deleted' ? ['example.com/hold'] : [];
  await managers.create('other', configMap, { metadata: { finalizers } });
  if (live === 'deleted') await managers.fixture.call('DELETE', configMap);
  return managers.get(configMap);
}

/** Names of metadata fields that have an owner. */
const ownedMetadata = (object: ApiObject): readonly string[] =>
  entriesOf(object).flatMap(({ fieldsV1 }) =>
    Object.keys((fieldsV1 as { readonly 'f:metadata'?: object } | undefined)?.['f:metadata'] ?? {}),
  );

for (const way of ways) {
  describe(way.name, () => {
    for (const [field, value] of Object.entries(fields)) {
      const refusal = refusals[field]?.[way.name];
      test(`${field}: ${refusal ?? 'passed over'}`, async () => {
        await using managers = await Managers.open();
        const live = await prepare(managers, way.live);
        const writing = way.write(managers, { [field]: value }, live);
        if (refusal !== undefined) {
          await assert.rejects(writing, (error) => error instanceof StatusError && error.code === refusal);
          return;
        }
        const { metadata } = await writing;
        const stored = await managers.get(configMap);
        assert.deepEqual(stored.metadata, metadata);
        assert.equal(metadata.labels?.['by'], 'me', 'the rest was done');
        assert.notDeepEqual(metadata[field as keyof typeof metadata], value);
        if (live && field !== 'managedFields') {
          const before = live.metadata[field as keyof typeof metadata];
          assert.deepEqual(metadata[field as keyof typeof metadata], before);
        }
        const owned = ownedMetadata(stored).map((name) => name.slice(2));
        for (const name of Object.keys(fields)) assert.ok(!owned.includes(name), `${name} is owned`);
      });
    }
  });
}
