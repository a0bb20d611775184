import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** The controllers of `orch up` may do what their roles say, each by its own account, and nothing else. */
test('a controller works for as long as its role is bound to its account', async () => {
  await using server = await OrchProcess.start();
  const binding =
    '/apis/rbac.authorization.orch.io/v1/clusterrolebindings/system:controller:service-account-controller';
  const namespaces = '/api/v1/namespaces';
  const inNamespace = (path: string) => server.get(`${namespaces}/late/${path}`);
  const bound = await server.get<object>(binding);
  assert.equal(bound.status, 200);
  assert.equal((await server.request('DELETE', binding)).status, 200);
  assert.equal((await server.post(namespaces, { metadata: { name: 'late' } })).status, 201);
  await until(
    async () => (await inNamespace('configmaps/orch-root-ca.crt')).status === 200,
    'the other controller does not work either',
  );
  assert.equal((await inNamespace('serviceaccounts/default')).status, 404);
  const { metadata, ...rest } = bound.json as { readonly metadata: { readonly name: string } };
  const again = { ...rest, metadata: { name: metadata.name } };
  assert.equal((await server.post(binding.replace(/\/[^/]*$/, ''), again)).status, 201);
  await until(async () => (await inNamespace('serviceaccounts/default')).status === 200, 'it does not work again');
});
