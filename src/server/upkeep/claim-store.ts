import { isStoreError, type Store } from '../../store/store.ts';
import { claimKey, formatClaim, parseClaim } from '../../store/store-claim.ts';

/** The key with which a release says that older ones must not use the store: the number of its format. */
const formatKey = '/.format';

/** The format of this release. Without the key it is 1. */
const formatNumber = 1;

/** A key that kine writes into each of its databases. */
const healthKey = '/health';

/**
 * Records the dialect of the first server in the store. Objects carry the names of a dialect and are invisible under
 * the other, so a server with another dialect fails instead of serving an apparently empty store. So does one whose store
 * holds what others wrote, or was written by a later release in a format of its own.
 */
export async function claimStore(store: Store, dialect: string): Promise<void> {
  const [found, format] = await Promise.all([store.get(claimKey), store.get(formatKey)]);
  if (format) assertKnown(Buffer.from(format.value).toString());
  if (!found) await assertEmpty(store);
  const claimed = found ?? (await claim(store, dialect));
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

function assertKnown(format: string): void {
  if (Number(format) <= formatNumber) return;
  throw new Error(
    `the data was written by a later release (its format is ${JSON.stringify(format)}, this one knows up to ` +
      `${formatNumber}): start that release`,
  );
}

/** Nobody has claimed the store: then nothing may be in it, unless another server was first meanwhile. */
async function assertEmpty(store: Store): Promise<void> {
  const { records } = await store.list('/', { limit: 2, remaining: 'whether' });
  const foreign = records.find(({ key }) => key !== healthKey);
  if (!foreign || (await store.get(claimKey))) return;
  throw new Error(
    `the store holds data of another program, such as ${JSON.stringify(foreign.key)}: it is left as it is; ` +
      'start with another prefix (--etcd-prefix), or with an empty store',
  );
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
