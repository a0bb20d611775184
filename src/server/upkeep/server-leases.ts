import type { Clock } from '../../base/time/clock.ts';
import { isStoreError, type Revision, type Store } from '../../store/store.ts';
import { serversFolder as folder } from '../../store/store-claim.ts';

interface ServerLeasesOptions {
  readonly store: Pick<Store, 'get' | 'list' | 'create' | 'update' | 'delete'>;
  readonly clock: Clock;
  /** Of this server. */
  readonly address: string;
  /** How long a server counts after it was last heard of. Milliseconds. */
  readonly leaseMs: number;
}

/**
 * Which servers share a store: each renews a key of its address. That a server has gone is told by its key staying as it is for
 * the time of a lease on the clock of the one who looks: clocks of machines need not agree.
 */
export class ServerLeases {
  readonly #options: ServerLeasesOptions;
  readonly #seen = new Map<string, { readonly revision: Revision; readonly sinceMs: number }>();

  constructor(options: ServerLeasesOptions) {
    this.#options = options;
  }

  /** Renews the lease of this server, removes those that have ended, and tells the addresses of all that count. */
  async renew(): Promise<readonly string[]> {
    const { store, clock, address } = this.#options;
    const key = `${folder}${address}`;
    const value = Buffer.from(JSON.stringify({ renewTime: new Date(clock.now()).toISOString() }));
    const record = await store.get(key);
    await unlessOthersWere(record ? store.update(key, value, record.revision) : store.create(key, value));
    const { records } = await store.list(folder);
    const alive = await Promise.all(records.map((each) => this.#isAlive(each.key, each.revision)));
    const keys = new Set(records.map((each) => each.key));
    for (const each of this.#seen.keys()) if (!keys.has(each)) this.#seen.delete(each);
    return records.flatMap((each, index) => (alive[index] || each.key === key ? [each.key.slice(folder.length)] : []));
  }

  async #isAlive(key: string, revision: Revision): Promise<boolean> {
    const { store, clock, leaseMs } = this.#options;
    const known = this.#seen.get(key);
    if (known?.revision !== revision) {
      this.#seen.set(key, { revision, sinceMs: clock.monotonic() });
      return true;
    }
    if (clock.monotonic() - known.sinceMs < leaseMs) return true;
    await unlessOthersWere(store.delete(key, revision));
    return false;
  }
}

/** A server of the same address, or who saw the same, was first: that is as good. */
async function unlessOthersWere(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(['exists', 'conflict', 'notFound'] as const).some((code) => isStoreError(error, code))) throw error;
  }
}
