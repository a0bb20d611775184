import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RegistryFixture } from '../registry-fixture.ts';
import type { PatchFormat } from './patch-formats.ts';

/* Duplicate owner references are joined with a warning; references that differ in any field are kept. */

const configMaps = '/api/v1/namespaces/n/configmaps';
const path = `${configMaps}/a`;
const owner = (uid: string, more: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid, ...more });
const one = owner('1');
const two = owner('2');

const warning = (duplicates: string, when = ''): string =>
  `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${duplicates}`;
const afterAdmission = ' after mutating admission happens';

interface Way {
  readonly method: string;
  readonly path: string;
  readonly patch?: PatchFormat;
  readonly body: (ownerReferences: readonly object[]) => unknown;
  readonly when: string;
}

const ways: Readonly<Record<string, Way>> = {
  'a create': {
    method: 'POST',
    path: configMaps,
    body: (ownerReferences) => ({ metadata: { name: 'b', ownerReferences } }),
    when: '',
  },
  'an update': {
    method: 'PUT',
    path,
    body: (ownerReferences) => ({ metadata: { name: 'a', ownerReferences } }),
    when: '',
  },
  'a merge patch': {
    method: 'PATCH',
    path,
    patch: 'merge',
    body: (ownerReferences) => ({ metadata: { ownerReferences } }),
    when: afterAdmission,
  },
  'a JSON patch': {
    method: 'PATCH',
    path,
    patch: 'json',
    body: (value) => [{ op: 'add', path: '/metadata/ownerReferences', value }],
    when: afterAdmission,
  },
};

const lists: readonly (readonly [what: string, sent: readonly object[], kept: readonly object[], joined: string])[] = [
  ['twice the same', [one, one], [one], '1'],
  ['the same after others', [one, two, one, two, one], [one, two], '1, 2, 1'],
  ['its fields in another order', [one, Object.fromEntries(Object.entries(one).reverse())], [one], '1'],
  [
    'one owner, and that it blocks',
    [one, { ...one, blockOwnerDeletion: true }],
    [one, { ...one, blockOwnerDeletion: true }],
    '',
  ],
  [
    'one owner, and that it does not block',
    [one, { ...one, blockOwnerDeletion: false }],
    [one, { ...one, blockOwnerDeletion: false }],
    '',
  ],
  ['two of one name', [one, two], [one, two], ''],
];

for (const [way, request] of Object.entries(ways)) {
  describe(`${way} with owners`, () => {
    for (const [what, sent, kept, joined] of lists) {
      test(what, async () => {
        await using fixture = await RegistryFixture.open();
        await fixture.call('POST', configMaps, { metadata: { name: 'a' } });
        if (request.patch) fixture.patchType = request.patch;
        const { metadata } = await fixture.object(request.method, request.path, request.body(sent));
        assert.deepEqual(metadata.ownerReferences, kept);
        assert.deepEqual(fixture.warnings, joined === '' ? [] : [warning(joined, request.when)]);
      });
    }
  });
}

test('owners duplicated by admission are joined, with a warning that says so', async () => {
  await using fixture = await RegistryFixture.open({
    admission: {
      mutate({ object }) {
        if (object) object.metadata.ownerReferences = [...(object.metadata.ownerReferences ?? []), one];
      },
      validate() {},
    },
  });
  const made = await fixture.object('POST', configMaps, { metadata: { name: 'a', ownerReferences: [one, one] } });
  assert.deepEqual(made.metadata.ownerReferences, [one]);
  assert.deepEqual(fixture.warnings, [warning('1'), warning('1', afterAdmission)]);
});

test('30,000 references to one owner are joined in a moment, and their warning is one', async () => {
  await using fixture = await RegistryFixture.open();
  const ownerReferences = Array.from({ length: 30_000 }, () => one);
  const made = await fixture.object('POST', configMaps, { metadata: { name: 'a', ownerReferences } });
  assert.deepEqual(made.metadata.ownerReferences, [one]);
  assert.equal(fixture.warnings.length, 1);
});
