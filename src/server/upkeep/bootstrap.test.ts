import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { StatusError } from '../../meta/status-error.ts';
import { RegistryFixture } from '../../registry/registry-fixture.ts';
import { createNamespaces, initialNamespaces } from './bootstrap.ts';

const path = '/api/v1/namespaces';
const namesOf = async (fixture: RegistryFixture): Promise<readonly unknown[]> =>
  (await fixture.list(path)).items.map(({ metadata }) => metadata.name);

test('the namespaces of each dialect', () => {
  assert.deepEqual(initialNamespaces(orch), ['default', 'orch-system', 'orch-public', 'orch-node-lease']);
  assert.deepEqual(initialNamespaces(kubernetes), ['default', 'kube-system', 'kube-public', 'kube-node-lease']);
});

test('an empty store gets them all', async () => {
  await using fixture = await RegistryFixture.open();
  await createNamespaces({ registry: fixture.registry, dialect: orch }, fixture.served(path));
  assert.deepEqual(await namesOf(fixture), [...initialNamespaces(orch)].sort());
  for (const { metadata, ...rest } of (await fixture.list(path)).items) {
    assert.match(metadata.uid ?? '', /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest['status'], { phase: 'Active' });
  }
});

test('existing ones stay unchanged, and missing ones are created', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', path, { metadata: { name: 'default', labels: { mine: 'yes' } } });
  const before = await fixture.object('GET', `${path}/default`);
  await createNamespaces({ registry: fixture.registry, dialect: orch }, fixture.served(path));
  assert.deepEqual(await fixture.object('GET', `${path}/default`), before);
  assert.equal((await namesOf(fixture)).length, 4);
  const head = await fixture.store.head();
  await createNamespaces({ registry: fixture.registry, dialect: orch }, fixture.served(path));
  assert.equal(await fixture.store.head(), head, 'a restart writes nothing');
});

test('another server on the same store may be first', async () => {
  await using fixture = await RegistryFixture.open();
  const served = fixture.served(path);
  await createNamespaces({ registry: fixture.registry, dialect: orch }, served);
  // A cache that does not show them yet.
  const behind = { ...served, collection: { ...served.collection, get: () => undefined } };
  await createNamespaces({ registry: fixture.registry, dialect: orch }, behind);
  assert.equal((await namesOf(fixture)).length, 4);
});

test('any other error fails the start', async () => {
  const refusal = new StatusError('Forbidden', 'not allowed');
  const refuse = (): never => {
    throw refusal;
  };
  await using fixture = await RegistryFixture.open({ admission: { mutate() {}, validate: refuse } });
  await assert.rejects(createNamespaces({ registry: fixture.registry, dialect: orch }, fixture.served(path)), refusal);
});
