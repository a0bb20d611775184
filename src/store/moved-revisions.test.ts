import { conformance } from './conformance/conformance.ts';
import { openMemoryStore } from './drivers/memory/memory-store.ts';
import { movedRevisions } from './moved-revisions.ts';

const by = 1_700_000_000_000_000;

conformance({
  name: 'memory, moved revisions',
  capabilities: { durable: false },
  async open() {
    const inner = openMemoryStore({ revision: 7, batchRevisions: 'shared' });
    const store = movedRevisions(inner, { by, floor: by + 7 });
    return { store, dispose: () => store.close() };
  },
});
