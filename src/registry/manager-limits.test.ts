import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../base/limits.ts';
import type { ManagedFieldsEntry } from '../meta/api-object.ts';
import { configMap, entriesOf, intent, Managers, node } from './write/managers-fixture.ts';

/** Objects with many applying managers: `limits.applyManagersMax`, `limits.applyManagersBytesMax`. */

const applier = (name: string, field: string): ManagedFieldsEntry => ({
  manager: name,
  operation: 'Apply',
  apiVersion: 'v1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:data': { [`f:${field}`]: {} } },
});

const appliers = (count: number): readonly ManagedFieldsEntry[] =>
  Array.from({ length: count }, (_, index) => applier(`a${index}`, `k${index}`));

/** One manager with an entry of about this many bytes. */
const wide = (bytes: number): readonly ManagedFieldsEntry[] => {
  const fields = Array.from({ length: Math.ceil(bytes / 50) }, (_, index) => [
    `f:k${String(index).padStart(41, '0')}`,
    {},
  ]);
  return [{ ...applier('wide', 'k'), fieldsV1: { 'f:data': Object.fromEntries(fields) } }];
};

/** Names of the data keys that the entries own. */
const namesOf = (entries: readonly ManagedFieldsEntry[]): readonly string[] =>
  entries
    .flatMap(({ fieldsV1 }) => Object.keys((fieldsV1 as { 'f:data': object })['f:data']))
    .map((name) => name.slice(2));

/** A ConfigMap with these managed fields, written directly to the store as another program would. */
async function holding(managedFields: readonly ManagedFieldsEntry[]): Promise<Managers> {
  const managers = await Managers.open();
  const data = Object.fromEntries(namesOf(managedFields).map((name) => [name, '']));
  const metadata = { name: 'a', namespace: 'n', uid: 'u', finalizers: ['example.com/a'], managedFields };
  const { store, cache } = managers.fixture;
  const key = managers.fixture.served(configMap).objectKey('n', 'a');
  await store.create(key, Buffer.from(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata, data })));
  await cache.fresh();
  return managers;
}

const bounds: readonly (readonly [what: string, entries: () => readonly ManagedFieldsEntry[], type: string])[] = [
  ['as many as there may be', () => appliers(limits.applyManagersMax), 'FieldValueTooMany'],
  ['more than there may be', () => appliers(limits.applyManagersMax + 5), 'FieldValueTooMany'],
  ['one, with very many fields', () => wide(limits.applyManagersBytesMax), 'FieldValueTooLong'],
];

for (const [what, entries, type] of bounds) {
  describe(`managers that apply: ${what}`, () => {
    const first = entries()[0]?.manager ?? '';

    for (const query of ['', '&dryRun=All', '&force=true']) {
      test(`another manager is rejected, with advice${query}`, async () => {
        await using managers = await holding(entries());
        const before = await managers.fixture.object('GET', configMap);
        const error = await managers.refusedApply('new', configMap, intent(configMap, { data: { new: 'v' } }), query);
        assert.equal(error.code, 422);
        const [cause, ...others] = error.details?.causes ?? [];
        assert.deepEqual([cause?.field, cause?.reason, others], ['metadata.managedFields', type, []]);
        assert.match(cause?.message ?? '', /apply as one that is there, or remove entries: .* sets .* to \[\{\}\]/);
        assert.deepEqual(await managers.fixture.object('GET', configMap), before);
      });
    }

    test('the same manager with a subresource counts separately', async () => {
      await using managers = await holding(entries());
      const sent = { metadata: { managedFields: [...entries(), { ...applier(first, 'k0'), subresource: 'status' }] } };
      managers.fixture.patchType = 'merge';
      assert.equal((await managers.fixture.refusal('PATCH', configMap, sent)).code, 422);
    });

    test('existing managers can still apply, also more fields', async () => {
      await using managers = await holding(entries());
      const own = Object.fromEntries(namesOf(entries().slice(0, 1)).map((name) => [name, '']));
      const object = await managers.apply(first, configMap, { data: { ...own, more: 'v' } }, '&force=true');
      assert.equal(entriesOf(object).length, entries().length);
      assert.equal((object['data'] as Record<string, string>)['more'], 'v');
    });

    test('managers that do not apply are not limited', async () => {
      await using managers = await holding(entries());
      await managers.merge('updater', configMap, { data: { merged: 'v' } });
      const object = await managers.fixture.object('GET', configMap);
      await managers.update('other', configMap, { ...object, data: { ...(object['data'] as object), put: 'v' } });
      for (const [patchType, patch] of [
        ['json', [{ op: 'add', path: '/data/json', value: 'v' }]],
        ['strategic', { data: { strategic: 'v' } }],
      ] as const) {
        managers.fixture.patchType = patchType;
        await managers.fixture.object('PATCH', `${configMap}?fieldManager=${patchType}`, patch);
      }
      await managers.fixture.call('DELETE', configMap);
      await managers.merge('cleaner', configMap, { metadata: { finalizers: null } });
      await managers.fixture.cache.fresh();
      assert.equal((await managers.fixture.refusal('GET', configMap)).code, 404);
    });

    test('another manager is accepted when all entries are gone', async () => {
      await using managers = await holding(entries());
      await managers.merge('cleaner', configMap, { metadata: { managedFields: [{}] } });
      await managers.apply('new', configMap, { data: { new: 'v' } });
    });
  });
}

describe('managers that apply', () => {
  test('are accepted up to the limit', async () => {
    await using managers = await holding(appliers(limits.applyManagersMax - 1));
    await managers.apply('last', configMap, { data: { last: 'v' } });
    const refused = await managers.refusedApply('new', configMap, intent(configMap, { data: { new: 'v' } }));
    assert.equal(refused.code, 422);
    await managers.apply('last', configMap, {});
    await managers.apply('new', configMap, { data: { new: 'v' } });
  });

  test('a manager that takes over fields of others makes room', async () => {
    await using managers = await holding(appliers(limits.applyManagersMax));
    const all = Object.fromEntries(appliers(limits.applyManagersMax).map((_, index) => [`k${index}`, 'mine']));
    const object = await managers.apply('new', configMap, { data: all }, '&force=true');
    assert.deepEqual(
      entriesOf(object).map(({ manager }) => manager),
      ['new'],
    );
  });

  for (const [method, target] of [
    ['POST', configMap.slice(0, configMap.lastIndexOf('/'))],
    ['POST', node.slice(0, node.lastIndexOf('/'))],
  ] as const) {
    test(`are limited in the body of ${method} ${target}`, async () => {
      await using managers = await Managers.open();
      const metadata = { managedFields: appliers(limits.applyManagersMax + 1) };
      const path = `${target}/a`;
      const error = await managers.fixture.refusal(method, target, intent(path, { metadata }));
      assert.deepEqual([error.code, error.details?.causes?.[0]?.field], [422, 'metadata.managedFields']);
    });
  }
});
