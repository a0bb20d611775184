import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { systemClock } from '../base/time/clock.ts';
import { conformance } from './conformance/conformance.ts';
import { etcdConformance, sqliteConformance } from './conformance/durable-drivers-fixture.ts';
import { bytes, text } from './conformance/subject.ts';
import { versionedXor, xorAddedBytes } from './conformance/versioned-xor.ts';
import { openMemoryStore } from './drivers/memory/memory-store.ts';
import { backupSqlite } from './drivers/sqlite/backup.ts';
import { openStore } from './open.ts';
import type { ChangeBatch, Store } from './store.ts';
import { transformedStore } from './transformed-store.ts';

const transformer = versionedXor(7);
const transformed = async (store: Promise<Store>): Promise<Store> =>
  transformedStore(await store, transformer, systemClock);
const addedBytes = xorAddedBytes;

conformance({
  name: 'transformed memory',
  capabilities: { durable: false, addedBytes },
  async open() {
    const store = await transformed(openStore({ backend: 'memory' }));
    return { store, dispose: () => store.close() };
  },
});

sqliteConformance({
  name: 'transformed sqlite',
  capabilities: { addedBytes },
  open: ({ file }) => transformed(openStore({ backend: 'sqlite', file })),
});

etcdConformance({
  name: 'transformed etcd',
  capabilities: { addedBytes },
  open: (place) => transformed(openStore({ backend: 'etcd3', ...place })),
});

/** The next non-empty batch of a change stream. */
async function nextChanges(store: Store, from: number): Promise<ChangeBatch['changes']> {
  const abort = new AbortController();
  for await (const { changes } of store.changes(from, abort.signal)) if (changes.length > 0) return changes;
  throw new Error('the change stream ended');
}

describe('stale values', () => {
  test('are reported by every kind of read, until they are rewritten', async () => {
    const driver = openMemoryStore();
    const old = transformedStore(driver, versionedXor(1), systemClock);
    const { revision } = await old.create('/a', bytes('one'));
    const store = transformedStore(driver, versionedXor(2, [1, 2]), systemClock);

    const record = { key: '/a', value: bytes('one'), revision, stale: true };
    assert.deepEqual(await store.get('/a'), record);
    assert.deepEqual((await store.list('/')).records, [record]);
    assert.deepEqual(await nextChanges(store, revision - 1), [{ type: 'create', ...record }]);

    const updated = await store.update('/a', record.value, revision);
    const fresh = { key: '/a', value: bytes('one'), revision: updated.revision };
    assert.deepEqual(await store.get('/a'), fresh);
    assert.deepEqual(await store.get('/a', revision), record, 'history stays as it is');
    assert.deepEqual(await nextChanges(store, revision), [{ type: 'update', ...fresh, previous: record }]);
    const deleted = await store.delete('/a', updated.revision);
    const changes = await nextChanges(store, updated.revision);
    assert.deepEqual(changes, [{ type: 'delete', key: '/a', revision: deleted.revision, previous: fresh }]);
    await driver.close();
  });

  test('unreadable values are corrupt individually, and can be replaced and deleted', async () => {
    const driver = openMemoryStore();
    const lost = transformedStore(driver, versionedXor(1), systemClock);
    const [a, b] = [await lost.create('/a', bytes('one')), await lost.create('/b', bytes('two'))];
    const store = transformedStore(driver, versionedXor(2), systemClock);
    await store.create('/c', bytes('three'));
    const { records } = await store.list('/');
    assert.deepEqual(
      records.map(({ key, value, corrupt }) => [key, text(value), corrupt?.code, corrupt?.key]),
      [
        ['/a', '', 'corrupt', '/a'],
        ['/b', '', 'corrupt', '/b'],
        ['/c', 'three', undefined, undefined],
      ],
    );
    assert.match(String(records[0]?.corrupt?.cause), /key 1 is not known/);
    assert.equal((await store.get('/a'))?.corrupt?.code, 'corrupt');
    await store.update('/a', bytes('new'), a.revision);
    assert.equal(text((await store.get('/a'))?.value), 'new');
    await store.delete('/b', b.revision);
    assert.equal(await store.get('/b'), undefined);
    await driver.close();
  });
});

test('a value that cannot be encrypted now is not written, and the error says so', async () => {
  const driver = openMemoryStore();
  const toStored = () => {
    throw new Error('no key yet');
  };
  const store = transformedStore(
    driver,
    { toStored, fromStored: (value) => ({ bytes: value, stale: false }) },
    systemClock,
  );
  const refused = {
    name: 'StoreError',
    code: 'unavailable',
    message: 'the value of /a cannot be encrypted: no key yet',
  };
  await assert.rejects(store.create('/a', bytes('one')), refused);
  await assert.rejects(store.update('/a', bytes('one'), 1), refused);
  await assert.rejects(store.batch([{ verb: 'create', key: '/a', value: bytes('one') }]), refused);
  assert.equal(await driver.get('/a'), undefined);
  await driver.close();
});

describe('the stored form of values', () => {
  test('is nothing else without a transformer, and what a backup holds with one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'transformed-store-'));
    const [file, to] = [join(folder, 'data.db'), join(folder, 'copy.db')];
    const store = await transformed(openStore({ backend: 'sqlite', file }));
    await store.create('/a', bytes('plain words'));
    await backupSqlite({ file, to });
    await store.close();
    for (const copy of [file, to]) {
      const raw = await openStore({ backend: 'sqlite', file: copy });
      assert.deepEqual((await raw.get('/a'))?.value, transformer.toStored(bytes('plain words'), '/a'));
      await raw.close();
      const read = await transformed(openStore({ backend: 'sqlite', file: copy }));
      assert.equal(text((await read.get('/a'))?.value), 'plain words');
      await read.close();
    }
    rmSync(folder, { recursive: true });
  });
});
