import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import type { Store } from '../store/store.ts';
import { RegistryFixture } from './registry-fixture.ts';

const path = '/api/v1/namespaces/n/configmaps';
const object = (value: string) => ({ metadata: { name: 'a' }, data: { value } });

/** A store whose event feed can be paused, so that the cache is older than the store. */
function heldBack(): { readonly store: Store; hold(): void; release(): void } {
  const store = openMemoryStore();
  const changes = store.changes.bind(store);
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  store.changes = async function* (from, signal) {
    for await (const batch of changes(from, signal)) {
      await gate.promise;
      yield batch;
    }
  };
  return {
    store,
    hold: () => {
      gate = Promise.withResolvers<void>();
    },
    release: () => gate.resolve(),
  };
}

for (const [what, method, options] of [
  ['an update', 'PUT', ''],
  ['a dry run of one', 'PUT', '?dryRun=All'],
  ['a patch', 'PATCH', ''],
] as const) {
  test(`${what} that seems to change nothing is compared with the newest state, not a stale cache`, async () => {
    const { store, hold, release } = heldBack();
    await using fixture = await RegistryFixture.open({ store });
    await fixture.call('POST', path, object('1'));
    await fixture.list(path); // the cache has it
    hold();
    await fixture.call('PUT', `${path}/a`, object('2'));
    const again = fixture.object(method, `${path}/a${options}`, object('1'));
    release();
    assert.deepEqual((await again)['data'], { value: '1' });
    const expected = options === '' ? { value: '1' } : { value: '2' };
    assert.deepEqual((await fixture.object('GET', `${path}/a`))['data'], expected);
  });
}

test('an update that seems to change nothing of an object that is gone is refused', async () => {
  const { store, hold, release } = heldBack();
  await using fixture = await RegistryFixture.open({ store });
  await fixture.call('POST', path, object('1'));
  await fixture.list(path);
  hold();
  await fixture.call('DELETE', `${path}/a`);
  const refused = fixture.refusal('PUT', `${path}/a`, object('1'));
  release();
  assert.equal((await refused).code, 404);
});
