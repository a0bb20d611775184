import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conformance } from '../../conformance/conformance.ts';
import type { Store } from '../../store.ts';
import { openSqliteStore } from './sqlite-store.ts';

conformance({
  name: 'sqlite',
  capabilities: { durable: true },
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-store-'));
    const file = join(folder, 'data.db');
    const opened: Store[] = [];
    const open = async () => {
      const store = await openSqliteStore({ file });
      opened.push(store);
      return store;
    };
    return {
      store: await open(),
      reopen: open,
      async dispose() {
        await Promise.all(opened.map((store) => store.close()));
        rmSync(folder, { recursive: true });
      },
    };
  },
});
