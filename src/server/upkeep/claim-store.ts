import { isStoreError, type Store } from '../../store/store.ts';

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

const mayBeThere = (error: unknown): boolean => isStoreError(error, 'exists') || isStoreError(error, 'unknownOutcome');

async function claim(store: Store, dialect: string): Promise<{ readonly value: Uint8Array }> {
  const value = Buffer.from(dialect);
  try {
    await store.create(claimKey, value);
    return { value };
  } catch (error) {
    // Another server was first; or the answer was lost, and it is there all the same.
    const other = mayBeThere(error) ? await store.get(claimKey) : undefined;
    if (other) return other;
    throw error;
  }
}
