import { isStoreError, type Store } from '../store/store.ts';

/** Where a store says whose names its objects carry. No resource's key begins so. */
const claimKey = '/.dialect';

/**
 * Objects are stored under the names of a dialect, and mean nothing under the other's. The first server of a store
 * writes down which one it speaks; one that speaks the other is told so instead of serving an empty store.
 */
export async function claimStore(store: Store, dialect: string): Promise<void> {
  const claimed = (await store.get(claimKey)) ?? (await claim(store, dialect));
  const owner = Buffer.from(claimed.value).toString();
  if (owner !== dialect) {
    throw new Error(
      `the data was written with --dialect=${owner} and cannot be served with --dialect=${dialect}: ` +
        `start with --dialect=${owner}, or with another data directory`,
    );
  }
}

async function claim(store: Store, dialect: string): Promise<{ readonly value: Uint8Array }> {
  const value = Buffer.from(dialect);
  try {
    await store.create(claimKey, value);
    return { value };
  } catch (error) {
    const other = isStoreError(error, 'exists') ? await store.get(claimKey) : undefined;
    if (other) return other; // another server was first
    throw error;
  }
}
