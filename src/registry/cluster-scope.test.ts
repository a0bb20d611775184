import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegistryFixture } from './registry-fixture.ts';
import type { PatchFormat } from './write/patch-formats.ts';

/* The namespace of a cluster-scoped object is dropped on every kind of write, as in kube-apiserver. */

const rbac = '/apis/rbac.authorization.orch.io/v1';
const kinds = [
  ['v1', 'Node', '/api/v1/nodes'],
  ['v1', 'Namespace', '/api/v1/namespaces'],
  ['rbac.authorization.orch.io/v1', 'ClusterRole', `${rbac}/clusterroles`],
] as const;

for (const [apiVersion, kind, collection] of kinds) {
  const body = (more: object = {}) => ({ apiVersion, kind, metadata: { name: 'a', namespace: 'n', ...more } });
  const labelled = { labels: { a: 'b' } };
  const ways: readonly (readonly [way: string, method: string, path: string, body: unknown, patch?: PatchFormat])[] = [
    ['a create', 'POST', collection, { ...body(), metadata: { name: 'b', namespace: 'n' } }],
    ['an update', 'PUT', `${collection}/a`, body(labelled)],
    ['a merge patch', 'PATCH', `${collection}/a`, { metadata: { namespace: 'n', ...labelled } }, 'merge'],
    ['a strategic merge patch', 'PATCH', `${collection}/a`, { metadata: { namespace: 'n', ...labelled } }, 'strategic'],
    ['a JSON patch', 'PATCH', `${collection}/a`, [{ op: 'add', path: '/metadata/namespace', value: 'n' }], 'json'],
    ['an apply', 'PATCH', `${collection}/a?fieldManager=m`, body(labelled), 'apply'],
    [
      'an apply that creates',
      'PATCH',
      `${collection}/b?fieldManager=m`,
      { ...body(), metadata: { name: 'b', namespace: 'n' } },
      'apply',
    ],
  ];
  for (const [way, method, path, sent, patch] of ways) {
    test(`${way} of a ${kind}`, async () => {
      await using fixture = await RegistryFixture.open();
      await fixture.call('POST', collection, { apiVersion, kind, metadata: { name: 'a' } });
      if (patch) fixture.patchType = patch;
      const { metadata } = await fixture.object(method, path, sent);
      assert.equal('namespace' in metadata, false);
      assert.equal(
        (await fixture.list(collection)).items.some((each) => 'namespace' in each.metadata),
        false,
      );
      assert.deepEqual(fixture.warnings, []);
    });
  }
}
