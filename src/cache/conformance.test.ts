import { conformance } from '../store/conformance/conformance.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import { cachedStore } from './testing/cached-store.ts';

conformance({
  name: 'cache',
  capabilities: { durable: false },
  async open() {
    const store = await cachedStore(openMemoryStore());
    return { store, dispose: () => store.close() };
  },
});
