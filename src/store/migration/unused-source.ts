import { type Clock, pause } from '../../base/time/clock.ts';
import { type Revision, type Store, StoreError } from '../store.ts';
import { serversFolder } from '../store-claim.ts';

interface Look {
  readonly clock: Clock;
  /** How long a server counts after it was last heard of. Milliseconds. */
  readonly leaseMs: number;
  /** Called before each further look, with the addresses of servers that may have gone. */
  readonly waiting: (addresses: readonly string[]) => void;
}

const lookEveryMs = 1_000;
const never = new AbortController().signal;

/**
 * Fails with `unavailable` if servers of this store are running. Each renews a key of its address: keys that stay as they are for the time of a lease
 * are those of servers that ended without removing theirs.
 */
export async function requireUnused(store: Pick<Store, 'list'>, { clock, leaseMs, waiting }: Look): Promise<void> {
  const first = await leasesOf(store);
  const deadline = clock.monotonic() + leaseMs;
  for (let now = first; now.size > 0; now = await leasesOf(store)) {
    const alive = [...now].flatMap(([address, revision]) => (first.get(address) === revision ? [] : [address]));
    if (alive.length > 0) throw new StoreError('unavailable', `it is in use by the servers at ${alive.join(', ')}`);
    if (clock.monotonic() >= deadline) return;
    waiting([...now.keys()]);
    await pause(clock, lookEveryMs, never);
  }
}

async function leasesOf(store: Pick<Store, 'list'>): Promise<ReadonlyMap<string, Revision>> {
  const { records } = await store.list(serversFolder);
  return new Map(records.map(({ key, revision }) => [key.slice(serversFolder.length), revision]));
}

/** Fails with `conflict` if a record was written after this revision: a server is running that has no lease. */
export async function requireUnwritten(store: Pick<Store, 'head' | 'changes'>, at: Revision): Promise<void> {
  const head = await store.head();
  const done = new AbortController();
  try {
    if (head > at) {
      for await (const { changes, revision } of store.changes(at, done.signal)) {
        const [written] = changes;
        if (written)
          throw new StoreError('conflict', `${written.key} was written while it was copied: a server is running`);
        if (revision >= head) break;
      }
    }
  } finally {
    done.abort();
  }
}
