import { systemClock } from '../base/time/clock.ts';
import { conformance } from '../store/conformance/conformance.ts';
import { versionedXor, xorAddedBytes } from '../store/conformance/versioned-xor.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import { transformedStore } from '../store/transformed-store.ts';
import { cachedStore } from './cached-store-fixture.ts';

conformance({
  name: 'cache',
  capabilities: { durable: false },
  async open() {
    const store = await cachedStore(openMemoryStore());
    return { store, dispose: () => store.close() };
  },
});

conformance({
  name: 'cache of a store whose batches have one revision',
  capabilities: { durable: false },
  async open() {
    const store = await cachedStore(openMemoryStore({ batchRevisions: 'shared' }));
    return { store, dispose: () => store.close() };
  },
});

conformance({
  name: 'cache of transformed values',
  capabilities: { durable: false, addedBytes: xorAddedBytes },
  async open() {
    const store = await cachedStore(transformedStore(openMemoryStore(), versionedXor(7), systemClock));
    return { store, dispose: () => store.close() };
  },
});
