import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegistryFixture } from '../registry-fixture.ts';

/** Bodies that act on a pod. */

for (const apiVersion of ['policy/v1', 'policy/v1beta1', undefined]) {
  test(`an eviction of ${apiVersion ?? 'no version'} deletes a pod`, async () => {
    await using fixture = await RegistryFixture.open();
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    await fixture.object('POST', '/api/v1/namespaces/n/pods', { metadata: { name: 'p' }, spec });
    const body = { ...(apiVersion && { apiVersion, kind: 'Eviction' }), metadata: { name: 'p' } };
    const answer = await fixture.status('POST', '/api/v1/namespaces/n/pods/p/eviction', body);
    assert.equal(answer.status, 'Success');
    assert.equal((await fixture.refusal('GET', '/api/v1/namespaces/n/pods/p')).code, 404);
  });
}

test('binding a pod makes nobody the owner of what it changes', async () => {
  await using fixture = await RegistryFixture.open();
  const pod = '/api/v1/namespaces/n/pods/p';
  const spec = { containers: [{ name: 'c', image: 'i' }] };
  const made = await fixture.object('POST', '/api/v1/namespaces/n/pods', { metadata: { name: 'p' }, spec });
  await fixture.status('POST', `${pod}/binding`, { metadata: { name: 'p' }, target: { kind: 'Node', name: 'one' } });
  const bound = await fixture.object('GET', pod);
  assert.equal((bound['spec'] as { readonly nodeName?: string }).nodeName, 'one');
  assert.ok((made.metadata.managedFields ?? []).length > 0);
  assert.deepEqual(bound.metadata.managedFields, made.metadata.managedFields);
});

test('an eviction of another version is refused', async () => {
  await using fixture = await RegistryFixture.open();
  const body = { apiVersion: 'policy/v2', kind: 'Eviction', metadata: { name: 'p' } };
  const { message } = await fixture.refusal('POST', '/api/v1/namespaces/n/pods/p/eviction', body);
  assert.equal(message, 'the API version in the data (policy/v2) does not match the expected API version (policy/v1)');
});
