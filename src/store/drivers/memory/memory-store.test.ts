import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conformance } from '../../conformance/conformance.ts';
import { openMemoryStore } from './memory-store.ts';

conformance({
  name: 'memory',
  capabilities: { durable: false },
  async open() {
    const store = openMemoryStore();
    return { store, dispose: () => store.close() };
  },
});

conformance({
  name: 'memory, batches of one revision',
  capabilities: { durable: false },
  async open() {
    const store = openMemoryStore({ batchRevisions: 'shared' });
    return { store, dispose: () => store.close() };
  },
});

test('a store that starts at a revision has no history before it', async () => {
  const store = openMemoryStore({ revision: 500 });
  assert.equal(await store.head(), 500);
  await assert.rejects(store.get('/a', 499), { code: 'compacted', revision: 500 });
  assert.equal((await store.create('/a', new Uint8Array(1))).revision, 501);
  await store.close();
});
