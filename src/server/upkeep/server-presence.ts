import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import { inTime } from '../../base/time/in-time.ts';
import { RepeatedWork } from '../../base/time/repeated-work.ts';
import { isStoreError, type Revision, type Store, type StoreRecord } from '../../store/store.ts';
import { addressesFolder, serversFolder } from '../../store/store-claim.ts';
import type { Lead } from './lead.ts';

/** How often a server renews its key; published. */
const intervalMs = 10_000;
/** How long a server counts that is not heard of; published. */
export const serverLeaseMs = 15_000;

interface ServerPresenceOptions {
  readonly store: Pick<Store, 'get' | 'list' | 'create' | 'update' | 'delete'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Of this machine. */
  readonly hostname: string;
  /** Who leads removes the keys of servers that have gone. */
  readonly lead: Pick<Lead, 'leads'>;
}

/**
 * Which servers share a store: each renews a key of its own, from before it serves until it has stopped, whatever it publishes. That a
 * server has gone without removing its key is told by the key staying as it is for the time of a lease, on the clock of the one who
 * looks: clocks of machines need not agree.
 */
export class ServerPresence {
  readonly #options: ServerPresenceOptions;
  readonly #key: string;
  readonly #seen = new Map<string, { readonly revision: Revision; readonly sinceMs: number }>();
  readonly #rounds: RepeatedWork;
  #address: string | undefined;
  /** One write at a time, so that none comes after the key was removed. */
  #writes: Promise<void> = Promise.resolve();

  constructor(options: ServerPresenceOptions) {
    const { clock, random, logger, hostname } = options;
    this.#options = options;
    this.#key = `${serversFolder}${hostname}/${random.uuid()}`;
    this.#rounds = new RepeatedWork({
      clock,
      intervalMs,
      work: () => this.round(),
      failed: (error) => logger.warn('the other servers of the store could not be told of this one', { error }),
    });
  }

  /** Writes the key, and renews it from then on. */
  async open(): Promise<void> {
    try {
      await this.#renew();
    } catch (error) {
      // Nobody can write into a full store, so there is nothing to tell yet.
      if (!isStoreError(error, 'full')) throw error;
    }
    this.#rounds.start(intervalMs);
  }

  async round(): Promise<void> {
    await this.#renew();
    if (this.#options.lead.leads) await Promise.all([serversFolder, addressesFolder].map((each) => this.#alive(each)));
  }

  /** Tells the others the address of this server, and gives those of all that have one. */
  async addresses(own: string): Promise<readonly string[]> {
    if (own !== this.#address) {
      this.#address = own;
      await this.#renew();
    }
    const [servers, addresses] = [await this.#alive(serversFolder), await this.#alive(addressesFolder)];
    // The release before has such keys alone, and gives endpoints to no other addresses.
    if (addresses.some(({ value }) => !contentOf(value).mirrored)) {
      await this.#inTurn(() => this.#write(`${addressesFolder}${own}`, { mirrored: true }));
    }
    const shown = servers.flatMap(({ value }) => contentOf(value).address ?? []);
    return [...new Set([own, ...shown, ...addresses.map(({ key }) => key.slice(addressesFolder.length))])].sort();
  }

  /** Removes the key, unless the store takes too long: it runs out by itself. */
  async close(): Promise<void> {
    this.#rounds.close();
    await inTime(
      this.#remove().catch(() => {}),
      limits.presenceRemovalMsMax,
      this.#options,
    );
  }

  async #remove(): Promise<void> {
    await this.#writes;
    const { store } = this.#options;
    const record = await store.get(this.#key);
    if (record) await store.delete(this.#key, record.revision);
  }

  #renew(): Promise<void> {
    return this.#inTurn(() => this.#write(this.#key, { address: this.#address }));
  }

  #inTurn(write: () => Promise<void>): Promise<void> {
    const done = this.#writes.then(() => (this.#rounds.closed ? undefined : write()));
    this.#writes = done.catch(() => {});
    return done;
  }

  async #write(key: string, content: Content): Promise<void> {
    const { store, clock } = this.#options;
    const value = Buffer.from(JSON.stringify({ renewTime: new Date(clock.now()).toISOString(), ...content }));
    const record = await store.get(key);
    try {
      await (record ? store.update(key, value, record.revision) : store.create(key, value));
    } catch (error) {
      // Another server took this one for gone.
      if (isStoreError(error, 'notFound')) await store.create(key, value);
      // A server of the same address was first: that is as good.
      else if (!isOvertaken(error)) throw error;
    }
  }

  /** The keys of a folder whose servers count. Removes the others if this server leads. */
  async #alive(folder: string): Promise<readonly StoreRecord[]> {
    const { records } = await this.#options.store.list(folder);
    const alive = await Promise.all(records.map((each) => this.#isAlive(each)));
    const keys = new Set(records.map(({ key }) => key));
    for (const each of this.#seen.keys()) if (each.startsWith(folder) && !keys.has(each)) this.#seen.delete(each);
    return records.filter((_, index) => alive[index]);
  }

  async #isAlive({ key, revision }: StoreRecord): Promise<boolean> {
    const { store, clock, lead } = this.#options;
    if (key === this.#key) return true;
    const known = this.#seen.get(key);
    if (known?.revision !== revision) {
      this.#seen.set(key, { revision, sinceMs: clock.monotonic() });
      return true;
    }
    if (clock.monotonic() - known.sinceMs < serverLeaseMs) return true;
    if (lead.leads) {
      await store.delete(key, revision).catch((error: unknown) => {
        // Others saw the same, or it has come back.
        if (!isOvertaken(error)) throw error;
      });
    }
    return false;
  }
}

const isOvertaken = (error: unknown): boolean =>
  (['exists', 'conflict', 'notFound'] as const).some((code) => isStoreError(error, code));

interface Content {
  /** Where others reach the server; absent if it has no endpoint. */
  readonly address?: string | undefined;
  /** Written for servers of the release before, by one that has a key of its own. */
  readonly mirrored?: boolean;
}

/** Of a key, whoever wrote it. */
function contentOf(value: Uint8Array): Content {
  try {
    const { address, mirrored } = JSON.parse(Buffer.from(value).toString()) as Record<string, unknown>;
    return { ...(typeof address === 'string' && { address }), mirrored: mirrored === true };
  } catch {
    // Those of a later release may be no JSON: it is there, and tells nothing.
    return {};
  }
}
