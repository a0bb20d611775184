import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../base/time/clock.ts';
import { within } from '../base/waits-fixture.ts';
import type { WatchSink } from '../cache/cache.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { versionedXor } from '../store/conformance/versioned-xor.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import { transformedStore } from '../store/transformed-store.ts';
import { RegistryFixture } from './registry-fixture.ts';

/** A no-op write of an object stored in a stale form stores it again. */

const path = '/api/v1/namespaces/n/configmaps';
const applied = (fixture: RegistryFixture) => {
  fixture.patchType = 'apply';
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'v' } };
  return fixture.object('PATCH', `${path}/a?fieldManager=m`, body);
};

const ways: Readonly<Record<string, (fixture: RegistryFixture, there: ApiObject) => Promise<ApiObject>>> = {
  PUT: (fixture, there) => fixture.object('PUT', `${path}/a`, there),
  'merge patch': (fixture) => {
    fixture.patchType = 'merge';
    return fixture.object('PATCH', `${path}/a`, { data: { k: 'v' } });
  },
  'JSON patch of nothing': (fixture) => {
    fixture.patchType = 'json';
    return fixture.object('PATCH', `${path}/a`, []);
  },
  'strategic merge patch': (fixture) => {
    fixture.patchType = 'strategic';
    return fixture.object('PATCH', `${path}/a`, {});
  },
  apply: applied,
};

/** A server with a new key, and an object encrypted with the old key, before the server started or while it runs. */
async function opened(when: 'before' | 'meanwhile', known: readonly number[]) {
  const driver = openMemoryStore();
  const old = await RegistryFixture.open({ store: transformedStore(driver, versionedXor(1), systemClock) });
  const open = () => RegistryFixture.open({ store: transformedStore(driver, versionedXor(2, known), systemClock) });
  let fixture = when === 'meanwhile' ? await open() : undefined;
  const there = await applied(old);
  await old.cache.close();
  fixture ??= await open();
  await fixture.cache.fresh();
  return { fixture, there };
}

for (const [way, write] of Object.entries(ways)) {
  for (const when of ['before', 'meanwhile'] as const) {
    test(`an unchanged ${way} of an object that was written ${when} with the old key is written once; watchers see it`, async () => {
      const { fixture: opening, there } = await opened(when, [1, 2]);
      await using fixture = opening;
      const { collection, objectKey } = fixture.served(path);
      const isStale = (): boolean | undefined => collection.get(objectKey('n', 'a'))?.stale;
      assert.equal(isStale(), true);
      const seen: string[] = [];
      const told = Promise.withResolvers<void>();
      const event: WatchSink['event'] = ({ type, revision }) => {
        seen.push(`${type} ${revision}`);
        told.resolve();
        return true;
      };
      const watcher = collection.watch({ after: fixture.cache.revision }, { event, closed() {} });
      const dry = await fixture.object('PUT', `${path}/a?dryRun=All`, there);
      assert.deepEqual([dry, isStale()], [there, true], 'a dry run keeps nothing');
      const written = await write(fixture, there);
      await within(told.promise, 'told: never');
      const { resourceVersion: version } = written.metadata;
      assert.notEqual(version, there.metadata.resourceVersion);
      assert.deepEqual(written, { ...there, metadata: { ...there.metadata, resourceVersion: version } });
      assert.equal(isStale(), false);
      assert.deepEqual(await write(fixture, written), written, 'and not once more');
      await fixture.cache.fresh();
      assert.deepEqual(seen, [`MODIFIED ${version}`]);
      watcher.close();
    });
  }
}

test('a stale object stays one when it is read, and no read writes it', async () => {
  const { fixture: opening, there } = await opened('before', [1, 2]);
  await using fixture = opening;
  assert.deepEqual(await fixture.object('GET', `${path}/a`), there);
  assert.deepEqual((await fixture.list(path)).items, [there]);
  assert.equal(String(await fixture.store.head()), there.metadata.resourceVersion);
});

for (const when of ['before', 'meanwhile'] as const) {
  test(`an object of a lost key, written ${when}, is corrupt: reads and writes of it say so, and others go on`, async () => {
    const { fixture: opening } = await opened(when, [2]);
    await using fixture = opening;
    const { collection, objectKey } = fixture.served(path);
    assert.deepEqual([...collection.snapshot().corrupt.keys()], [objectKey('n', 'a')]);
    assert.equal((await fixture.refusal('GET', `${path}/a`)).code, 500);
    assert.equal((await fixture.refusal('PUT', `${path}/a`, { metadata: { name: 'a' } })).code, 500);
    assert.equal((await fixture.refusal('GET', path)).code, 500);
    await fixture.call('POST', path, { metadata: { name: 'b' } });
    assert.equal((await fixture.object('GET', `${path}/b`)).metadata.name, 'b');
  });
}

test('no object is written while none can be encrypted, and the client is told to try again', async () => {
  const toStored = () => {
    throw new Error('no key yet');
  };
  const keyless = { toStored, fromStored: (bytes: Uint8Array) => ({ bytes, stale: false }) };
  await using fixture = await RegistryFixture.open({
    store: transformedStore(openMemoryStore(), keyless, systemClock),
  });
  const { code, message } = await fixture.refusal('POST', path, { metadata: { name: 'a' } });
  assert.deepEqual([code, message], [503, 'the object cannot be encrypted now; try again']);
});
