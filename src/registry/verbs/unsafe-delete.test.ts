import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatusError } from '../../meta/status-error.ts';
import { openMemoryStore } from '../../store/drivers/memory/memory-store.ts';
import { RegistryFixture } from '../registry-fixture.ts';

const path = '/api/v1/namespaces/n/configmaps';
const option = { ignoreStoreReadErrorWithClusterBreakingPotential: true };

/** A store with one damaged object, as after losing an encryption key. */
async function damaged() {
  const store = openMemoryStore();
  await store.create('/core/configmaps/n/bad', Buffer.from('k8s:enc:nonsense'));
  return store;
}

test('a corrupt object fails reads that include it, and cannot be deleted normally', async () => {
  await using fixture = await RegistryFixture.open({ store: await damaged(), unsafeDeletion: true });
  await fixture.call('POST', path, { metadata: { name: 'good' } });
  assert.equal((await fixture.refusal('GET', `${path}/bad`)).code, 500);
  assert.equal((await fixture.refusal('GET', path)).code, 500);
  assert.equal((await fixture.refusal('DELETE', `${path}/bad`)).code, 500);
  assert.equal((await fixture.object('GET', `${path}/good`)).metadata.name, 'good');
});

test('with gate and option it is removed, and lists work again', async () => {
  await using fixture = await RegistryFixture.open({ store: await damaged(), unsafeDeletion: true });
  const reply = await fixture.call('DELETE', `${path}/bad`, option);
  assert.ok(reply.type === 'status' && reply.body.status === 'Success' && reply.body.details?.name === 'bad');
  assert.equal((await fixture.refusal('GET', `${path}/bad`)).code, 404);
  assert.deepEqual((await fixture.list(path)).items, []);
});

test('without the gate the option changes nothing', async () => {
  await using fixture = await RegistryFixture.open({ store: await damaged() });
  assert.equal((await fixture.refusal('DELETE', `${path}/bad`, option)).code, 500);
});

test('a readable object is deleted normally, with its finalizers', async () => {
  await using fixture = await RegistryFixture.open({ unsafeDeletion: true });
  await fixture.call('POST', path, { metadata: { name: 'held', finalizers: ['example.com/hold'] } });
  assert.ok((await fixture.object('DELETE', `${path}/held`, option)).metadata.deletionTimestamp);
});

for (const [name, value] of [
  ['dryRun', ['All']],
  ['gracePeriodSeconds', 0],
  ['orphanDependents', true],
  ['preconditions', { uid: 'x' }],
  ['propagationPolicy', 'Orphan'],
] as const) {
  test(`the option cannot be combined with ${name}`, async () => {
    await using fixture = await RegistryFixture.open({ store: await damaged(), unsafeDeletion: true });
    const error = await fixture.refusal('DELETE', `${path}/bad`, { ...option, [name]: value });
    assert.equal(error.code, 422);
    assert.equal(
      error.message,
      `DeleteOptions.meta.orch.io "" is invalid: ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: cannot be set together with .${name}`,
    );
  });
}

test('a user without the permission removes nothing, readable or not; it is checked only with the option', async () => {
  const asked: string[] = [];
  await using fixture = await RegistryFixture.open({
    store: await damaged(),
    unsafeDeletion: true,
    requireUnsafeDelete: ({ resource, namespace, name }) => {
      asked.push(`${resource} ${namespace} ${name}`);
      throw new StatusError('Forbidden', 'no');
    },
  });
  await fixture.call('POST', path, { metadata: { name: 'good' } });
  for (const name of ['bad', 'good']) {
    assert.equal((await fixture.refusal('DELETE', `${path}/${name}`, option)).code, 403);
    assert.equal((await fixture.refusal('DELETE', `${path}/${name}?${Object.keys(option)}=true`)).code, 403);
  }
  assert.ok(await fixture.store.get('/core/configmaps/n/bad'));
  await fixture.call('DELETE', `${path}/good`, { ignoreStoreReadErrorWithClusterBreakingPotential: false });
  assert.deepEqual(
    asked,
    ['bad', 'bad', 'good', 'good'].map((name) => `configmaps n ${name}`),
  );
});

test('the option is refused for a collection', async () => {
  await using fixture = await RegistryFixture.open({ unsafeDeletion: true });
  assert.equal((await fixture.refusal('DELETE', path, option)).code, 422);
});
