import type { EtcdStoreOptions } from './drivers/etcd/etcd-store.ts';
import type { MemoryStoreOptions } from './drivers/memory/memory-store.ts';
import type { SqliteStoreOptions } from './drivers/sqlite/sqlite-store.ts';
import type { Store } from './store.ts';

/** The store to open, by the values of `--storage-backend`, with the options of its driver. */
export type StoreOptions =
  | ({ readonly backend: 'sqlite' } & SqliteStoreOptions)
  | ({ readonly backend: 'etcd3' } & EtcdStoreOptions)
  | ({ readonly backend: 'memory' } & MemoryStoreOptions);

/**
 * Opens a store, loading only the driver that it needs. Rejects with a StoreError if it cannot be opened.
 */
export const openStore = async (options: StoreOptions): Promise<Store> => {
  switch (options.backend) {
    case 'sqlite': {
      const { openSqliteStore } = await import('./drivers/sqlite/sqlite-store.ts');
      return openSqliteStore(options);
    }
    case 'etcd3': {
      const { openEtcdStore } = await import('./drivers/etcd/etcd-store.ts');
      const { asClaimed } = await import('./moved-revisions.ts');
      return asClaimed(await openEtcdStore(options));
    }
    case 'memory': {
      const { openMemoryStore } = await import('./drivers/memory/memory-store.ts');
      return openMemoryStore(options);
    }
  }
};
