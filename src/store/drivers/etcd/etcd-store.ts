import { limits } from '../../../base/limits.ts';
import { type Logger, silentLogger } from '../../../base/logger.ts';
import type { Count } from '../../../base/metrics.ts';
import { type Random, systemRandom } from '../../../base/random.ts';
import { type Clock, systemClock } from '../../../base/time/clock.ts';
import { checkBatch } from '../../batch.ts';
import {
  type BatchWrite,
  type ChangeBatch,
  type Committed,
  isStoreError,
  type ListOptions,
  type Page,
  type Revision,
  type Store,
  StoreError,
  type StoreRecord,
  type WriteOptions,
} from '../../store.ts';
import { EtcdConnection, type Patience } from './etcd-connection.ts';
import { isAnswerTooLarge, isForbidden } from './etcd-errors.ts';
import { EtcdKeys, type KeyRange } from './etcd-keys.ts';
import {
  compactMethod,
  countedWriteMethod,
  type KeyValue,
  type RangeRequest,
  type RangeResponse,
  rangeMethod,
  statusMethod,
} from './etcd-messages.ts';
import type { EtcdTls } from './etcd-tls.ts';
import { EtcdWatch } from './etcd-watch.ts';
import { EtcdWrites, revisionOf } from './etcd-writes.ts';
import { PassedOverKeys } from './passed-over-keys.ts';
import { SharedRead } from './shared-read.ts';
import { withoutWriteId } from './write-id.ts';

export interface EtcdStoreOptions {
  /** `https://host:2379` or `http://host:2379`; tried in turn. */
  readonly endpoints: readonly string[];
  /** Prefix of every key: begins with `/` and does not end with one. Only keys below `<prefix>/` are visible. */
  readonly prefix?: string;
  /** PEM texts. Default: no TLS for `http` endpoints, the system's certificate authorities for `https` ones. */
  readonly tls?: EtcdTls;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  /** Counts keys that lists and watches passed over, because no store writes them. */
  readonly passedOver?: Count | undefined;
}

/**
 * The store on an etcd cluster (3.4 or later; v3 API over gRPC). Any number of stores, in any number of processes, may
 * share one prefix, and several prefixes one etcd.
 *
 * - The revision is that of the whole etcd: it also advances when others write, and `compact` compacts all of etcd.
 * - `compacted` carries the oldest revision only if etcd reports it: when it cancels a watch, not for reads.
 * - `unavailable` is every failure without a definite answer: see `EtcdConnection` for what is retried.
 * - The effect of a write without a definite answer is searched for (see `EtcdWrites`), and `unknownOutcome` reported
 *   only if that is inconclusive. To make writes distinguishable, values in etcd are followed by an id
 *   (`write-id.ts`).
 * - Keys below the prefix that no store writes are passed over, see `PassedOverKeys`. Counts (`limit` 0, `remaining`)
 *   include them.
 * - `full`: etcd's quota is reached. `tooLarge`: the value exceeds etcd's `--max-request-bytes`.
 *
 * Resolves when the cluster has answered; rejects with `unavailable` and the reason of each endpoint if none answers,
 * or at once if the options themselves are unusable.
 */
export const openEtcdStore = async (options: EtcdStoreOptions): Promise<Store> => {
  const store = makeStore(options);
  try {
    const revision = await store.head();
    await store.examine();
    options.logger?.info('etcd is connected', { endpoints: options.endpoints, revision });
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
};

const makeStore = (options: EtcdStoreOptions): EtcdStore => {
  try {
    return new EtcdStore(options);
  } catch (error) {
    if (error instanceof RangeError) throw new StoreError('unavailable', error.message, { cause: error });
    throw error;
  }
};

class EtcdStore implements Store {
  readonly #connection: EtcdConnection;
  readonly #keys: EtcdKeys;
  readonly #passedOver: PassedOverKeys;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #watches = new Set<EtcdWatch>();
  readonly #head = new SharedRead(() => this.#readHead());
  readonly #writes: EtcdWrites;
  /** Version of the compaction key when last seen. */
  #compactionTurns = 0;
  /** The highest head that etcd has reported. */
  #headSeen: Revision = 1;

  constructor(options: EtcdStoreOptions) {
    const {
      endpoints,
      prefix = '/registry',
      tls,
      clock = systemClock,
      random = systemRandom,
      logger = silentLogger,
      passedOver,
    } = options;
    this.#clock = clock;
    this.#random = random;
    this.#logger = logger;
    this.#keys = new EtcdKeys(prefix);
    this.#passedOver = new PassedOverKeys({ logger, counted: passedOver });
    this.#connection = new EtcdConnection({ endpoints, tls, clock, random, logger, probeKey: this.#keys.marker });
    this.#writes = new EtcdWrites({
      ...{ connection: this.#connection, keys: this.#keys, clock, random, logger },
      source: {
        range: (request, patience) => this.#range(request, patience),
        assertKept: (revision, patience) => this.#assertKept(revision, patience),
        headSeen: () => this.#headSeen,
        headMoved: (head) => this.#headMoved(head),
      },
    });
  }

  /** Finds out what the server can do. Throws `unavailable` if the endpoints lead to more than one cluster. */
  async examine(): Promise<void> {
    await Promise.all([this.#connection.assertOneCluster(), this.#writes.probe()]);
  }

  head(): Promise<Revision> {
    return this.#head.get();
  }

  async get(key: string, at?: Revision): Promise<StoreRecord | undefined> {
    const { records } = await this.#range({ key: this.#keys.toEtcd(key), ...revisionOf(at) });
    const [record] = records;
    return record && toRecord(key, record);
  }

  async list(prefix: string, options: ListOptions = {}): Promise<Page> {
    const range = this.#keys.range(prefix, options.after);
    if (options.limit === 0) return this.#count(range, options.at);
    for (;;) {
      try {
        return await this.#listPages(range, options);
      } catch (error) {
        // Compacted between two pages: the caller did not choose the revision of the list, so a newer one will do.
        if (options.at !== undefined || !isStoreError(error, 'compacted')) throw error;
      }
    }
  }

  create(key: string, value: Uint8Array, options?: WriteOptions): Promise<Committed> {
    return this.#write({ verb: 'create', key, value }, options);
  }

  update(key: string, value: Uint8Array, expected: Revision, options?: WriteOptions): Promise<Committed> {
    return this.#write({ verb: 'update', key, value, expected }, options);
  }

  delete(key: string, expected: Revision, options?: WriteOptions): Promise<Committed> {
    return this.#write({ verb: 'delete', key, expected }, options);
  }

  /** etcd itself enforces the size limits of a transaction: its operators may have raised them. */
  async batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]> {
    checkBatch(writes);
    return writes.length === 0 ? [] : this.#writes.write(writes);
  }

  async *changes(from: Revision, signal: AbortSignal): AsyncGenerator<ChangeBatch, void> {
    const watch = new EtcdWatch({
      connection: this.#connection,
      keys: this.#keys,
      passedOver: this.#passedOver,
      source: {
        head: () => this.head(),
        get: (key, at) => this.get(key, at),
        assertKept: (revision) => this.#assertKept(revision),
      },
      clock: this.#clock,
      random: this.#random,
      logger: this.#logger,
      from,
      signal,
    });
    this.#watches.add(watch);
    try {
      yield* watch.batches();
    } finally {
      this.#watches.delete(watch);
    }
  }

  async compact(upTo: Revision): Promise<void> {
    if (upTo < 1) return;
    await this.#writes.pass(upTo);
    try {
      await this.#connection.read(compactMethod, { revision: upTo });
    } catch (error) {
      if (!isStoreError(error, 'compacted')) throw error;
    }
  }

  /**
   * By the protocol of kube-apiserver, so that both can share an etcd: the key `compact_rev_key`, whose version counts
   * turns and whose value is the revision compacted to. Who counts one ahead of what it has seen has the turn; others
   * count on, and have theirs once nobody else was faster for as long as they wait between two attempts.
   */
  async takeCompactionTurn(upTo: Revision): Promise<boolean> {
    const turn = { key: compactionKey, version: this.#compactionTurns, value: Buffer.from(String(upTo)) };
    const { header, succeeded, version } = await this.#connection
      .write(countedWriteMethod, turn)
      .catch((error: unknown) => Promise.reject(isForbidden(error) ? forbiddenCompaction(error) : error));
    this.#headMoved(header.revision);
    this.#compactionTurns = succeeded ? this.#compactionTurns + 1 : version;
    return succeeded;
  }

  /** Of the member that answers; includes the data of other users of that etcd. */
  async size(): Promise<number> {
    return (await this.#connection.read(statusMethod, undefined)).dbSize;
  }

  /** A member that has just answered a linearizable read has heard of every alarm that was raised before. */
  async alarms(): Promise<readonly string[]> {
    await this.#readHead();
    const { errors } = await this.#connection.read(statusMethod, undefined);
    return [...new Set(errors.flatMap((error) => /\balarm:(\w+)/.exec(error)?.[1] ?? []))];
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #write(write: BatchWrite, options?: WriteOptions): Promise<Committed> {
    const [committed] = await this.#writes.write([write], options);
    return committed as Committed;
  }

  async #readHead(): Promise<Revision> {
    const { header } = await this.#range({ key: this.#keys.marker, countOnly: true });
    return header.revision;
  }

  async #assertKept(revision: Revision, patience?: Patience): Promise<void> {
    try {
      await this.#range({ key: this.#keys.marker, countOnly: true, ...revisionOf(revision) }, patience);
    } catch (error) {
      // The watch waits until the head reaches the revision.
      if (!isStoreError(error, 'futureRevision')) throw error;
    }
  }

  async #count({ key, rangeEnd }: KeyRange, at: Revision | undefined): Promise<Page> {
    const { header, count } = await this.#range({ key, rangeEnd, countOnly: true, ...revisionOf(at) });
    return { records: [], revision: at ?? header.revision, remaining: count };
  }

  /** Reads pages at one revision until there are enough records. */
  async #listPages({ key, rangeEnd }: KeyRange, { at, limit }: ListOptions): Promise<Page> {
    const records: StoreRecord[] = [];
    let revision = at;
    let start = key;
    let pageMax: number = limits.etcdFirstPageMax;
    for (;;) {
      const missing = (limit ?? Number.POSITIVE_INFINITY) - records.length;
      const page = await this.#page({
        key: start,
        rangeEnd,
        limit: Math.min(missing, pageMax),
        ...revisionOf(revision),
      });
      revision ??= page.header.revision;
      for (const record of page.records) {
        const key = this.#keys.fromEtcd(record.key);
        if (key === undefined) this.#passedOver.note(record.key);
        else records.push(toRecord(key, record));
      }
      const last = page.records.at(-1);
      const remaining = page.count - page.records.length;
      if (!last || remaining === 0 || records.length === limit) return { records, revision, remaining };
      start = Buffer.concat([last.key, zeroByte]);
      pageMax = nextPageMax(page.records);
    }
  }

  /** Halves the number of records requested while the response is too large. */
  async #page(request: RangeRequest & { readonly limit: number }): Promise<RangeResponse> {
    try {
      return await this.#range(request);
    } catch (error) {
      if (!isAnswerTooLarge(error) || request.limit === 1) throw error;
      return this.#page({ ...request, limit: Math.ceil(request.limit / 2) });
    }
  }

  /** Linearizable, like every read of the driver. */
  async #range(request: RangeRequest, patience?: Patience): Promise<RangeResponse> {
    const response = await this.#connection.read(rangeMethod, request, patience);
    this.#headMoved(response.header.revision);
    return response;
  }

  #headMoved(head: Revision): void {
    this.#headSeen = Math.max(this.#headSeen, head);
    for (const watch of this.#watches) watch.headMoved(head);
  }
}

/** As published: outside of all prefixes, one for the whole etcd. */
const compactionKey = Buffer.from('compact_rev_key');

/** A role may be confined to the prefix. */
const forbiddenCompaction = (cause: unknown): StoreError =>
  new StoreError(
    'unavailable',
    'etcd does not let this server take its turn to compact: grant it with ' +
      '`etcdctl role grant-permission ROLE readwrite compact_rev_key`, or let another program compact and set ' +
      '--etcd-compaction-interval=0',
    { cause },
  );

const zeroByte = Uint8Array.of(0);

const toRecord = (key: string, { value, modRevision }: KeyValue): StoreRecord => ({
  key,
  value: withoutWriteId(value),
  revision: modRevision,
});

/** How many records of this size make up a page of `limits.etcdPageBytes`. */
const nextPageMax = (records: readonly KeyValue[]): number => {
  const bytes = records.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
  const fitting = Math.floor((limits.etcdPageBytes * records.length) / Math.max(bytes, 1));
  return Math.min(Math.max(fitting, 1), limits.etcdPageMax);
};
