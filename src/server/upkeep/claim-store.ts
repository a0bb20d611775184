import { isStoreError, type Store } from '../../store/store.ts';
import { claimKey, formatClaim, parseClaim } from '../../store/store-claim.ts';

/**
 * Records the dialect of the first server in the store. Objects carry the names of a dialect and are invisible under
 * the other, so a server with another dialect fails instead of serving an apparently empty store.
 */
export async function claimStore(store: Store, dialect: string): Promise<void> {
  const claimed = (await store.get(claimKey)) ?? (await claim(store, dialect));
  const claimedAs = parseClaim(claimed.value);
  if (claimedAs.type === 'unfinished') {
    throw new Error(
      'a migration into this store was not finished: run `orch migrate` again, or use another --etcd-prefix',
    );
  }
  const { dialect: owner } = claimedAs;
  if (owner !== dialect) {
    throw new Error(
      `the data was written with --dialect=${owner} and cannot be served with --dialect=${dialect}: ` +
        `start with --dialect=${owner}, or with another data directory`,
    );
  }
}

const mayBeThere = (error: unknown): boolean => isStoreError(error, 'exists') || isStoreError(error, 'unknownOutcome');

async function claim(store: Store, dialect: string): Promise<{ readonly value: Uint8Array }> {
  const value = formatClaim({ type: 'served', dialect, moved: undefined });
  try {
    await store.create(claimKey, value);
    return { value };
  } catch (error) {
    // Another server was first, or the reply to our own write was lost.
    const other = mayBeThere(error) ? await store.get(claimKey) : undefined;
    if (other) return other;
    throw error;
  }
}
