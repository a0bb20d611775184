import { limits } from '../../../base/limits.ts';
import { type Logger, silentLogger } from '../../../base/logger.ts';
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
import { EtcdConnection } from './etcd-connection.ts';
import { isAnswerTooLarge } from './etcd-errors.ts';
import { EtcdKeys, type KeyRange } from './etcd-keys.ts';
import type { EtcdTls } from './etcd-member.ts';
import {
  compactMethod,
  guardedWritesMethod,
  type KeyValue,
  type RangeRequest,
  type RangeResponse,
  rangeMethod,
  statusMethod,
} from './etcd-messages.ts';
import { EtcdWatch } from './etcd-watch.ts';
import { changesOfKey } from './key-history.ts';
import { type KeyReader, refusalOf, type SentWrite, settle } from './lost-write.ts';
import { SharedRead } from './shared-read.ts';
import { WriteIds, withoutWriteId, withWriteId } from './write-id.ts';

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
}

/**
 * The store on an etcd cluster (3.4 or later; v3 API over gRPC). Any number of stores, in any number of processes, may
 * share one prefix, and several prefixes one etcd.
 *
 * - The revision is that of the whole etcd: it also advances when others write, and `compact` compacts all of etcd.
 * - `compacted` carries the oldest revision only if etcd reports it: when it cancels a watch, not for reads.
 * - `unavailable` is every failure without a definite answer: see `EtcdConnection` for what is retried.
 * - A write without a definite answer is never resent. The store searches for its effect (see `settle`), and reports
 *   `unknownOutcome` only if that is inconclusive. To make writes distinguishable, values in etcd are followed by an id
 *   (`write-id.ts`).
 * - `full`: etcd's quota is reached. `tooLarge`: the value exceeds etcd's `--max-request-bytes`.
 *
 * Resolves when the cluster has answered; rejects with `unavailable` and the reason of each endpoint if none answers,
 * or at once if the options themselves are unusable.
 */
export const openEtcdStore = async (options: EtcdStoreOptions): Promise<Store> => {
  const store = makeStore(options);
  try {
    const revision = await store.head();
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
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #watches = new Set<EtcdWatch>();
  readonly #head = new SharedRead(() => this.#readHead());
  readonly #ids: WriteIds;
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
    } = options;
    this.#clock = clock;
    this.#random = random;
    this.#logger = logger;
    this.#ids = new WriteIds(random);
    this.#keys = new EtcdKeys(prefix);
    this.#connection = new EtcdConnection({ endpoints, tls, clock, random, logger, probeKey: this.#keys.marker });
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
    return this.#write([{ verb: 'create', key, value }], options);
  }

  update(key: string, value: Uint8Array, expected: Revision, options?: WriteOptions): Promise<Committed> {
    return this.#write([{ verb: 'update', key, value, expected }], options);
  }

  delete(key: string, expected: Revision, options?: WriteOptions): Promise<Committed> {
    return this.#write([{ verb: 'delete', key, expected }], options);
  }

  /** etcd itself enforces the size limits of a transaction: its operators may have raised them. */
  async batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]> {
    checkBatch(writes);
    if (writes.length === 0) return [];
    const committed = await this.#write(writes);
    return writes.map(() => committed);
  }

  async *changes(from: Revision, signal: AbortSignal): AsyncGenerator<ChangeBatch, void> {
    const watch = new EtcdWatch({
      connection: this.#connection,
      keys: this.#keys,
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
    try {
      await this.#connection.read(compactMethod, { revision: upTo });
    } catch (error) {
      if (!isStoreError(error, 'compacted')) throw error;
    }
  }

  /** Of the member that answers; includes the data of other users of that etcd. */
  async size(): Promise<number> {
    return (await this.#connection.read(statusMethod, undefined)).dbSize;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #readHead(): Promise<Revision> {
    const { header } = await this.#range({ key: this.#keys.marker, countOnly: true });
    return header.revision;
  }

  async #assertKept(revision: Revision): Promise<void> {
    try {
      await this.#range({ key: this.#keys.marker, countOnly: true, ...revisionOf(revision) });
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
      for (const record of page.records) records.push(this.#toListed(record));
      const last = page.records.at(-1);
      const remaining = page.count - page.records.length;
      if (!last || remaining === 0 || page.records.length >= missing) return { records, revision, remaining };
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

  /** All in one transaction. */
  async #write(writes: readonly BatchWrite[], { span }: WriteOptions = {}): Promise<Committed> {
    try {
      return await this.#send(writes, { marked: true, span });
    } catch (error) {
      // A full etcd accepts deletions, but no put in the same transaction.
      if (!isStoreError(error, 'full') || writes.some(({ verb }) => verb !== 'delete')) throw error;
      return this.#send(writes, { marked: false, span });
    }
  }

  /** Sends at most once. `marked`: deletions store the id of the transaction in the marker key. */
  async #send(
    writes: readonly BatchWrite[],
    { marked, span }: WriteOptions & { readonly marked: boolean },
  ): Promise<Committed> {
    const id = this.#ids.next();
    const deletes = writes.some(({ verb }) => verb === 'delete');
    const sent = writes.map((write) => this.#toSend(write, { id, marked }));
    try {
      const { header, succeeded, current } = await this.#connection.write(
        guardedWritesMethod,
        {
          writes: writes.map((write, index) => ({
            key: this.#keys.toEtcd(write.key),
            modRevision: guardOf(sent[index] as SentWrite),
            value: write.verb === 'delete' ? undefined : withWriteId(write.value, id),
          })),
          beside: deletes && marked ? { key: this.#keys.marker, value: id } : undefined,
        },
        span,
      );
      this.#headMoved(header.revision);
      if (succeeded) return { revision: header.revision };
      throw refusalOfFirst(sent, current);
    } catch (error) {
      if (!isStoreError(error, 'unknownOutcome')) throw error;
      this.#logger.debug('writes went unanswered and are looked for', { writes: writes.map(({ key }) => key), error });
      const { ended } = this.#connection;
      const looked = sent.map((write) => ({ write, key: this.#written(write.key) }));
      return settle(looked, { error, clock: this.#clock, ended });
    }
  }

  #toSend(write: BatchWrite, { id, marked }: Pick<SentWrite, 'id' | 'marked'>): SentWrite {
    const { verb, key } = write;
    const expected = verb === 'create' ? 0 : write.expected;
    return { verb, key, expected, id, marked, since: Math.max(this.#headSeen, expected) };
  }

  #written(name: string): KeyReader {
    const key = this.#keys.toEtcd(name);
    const { marker } = this.#keys;
    const read = async (read: Uint8Array, at: Revision | undefined): Promise<KeyValue | undefined> =>
      (await this.#range({ key: read, ...revisionOf(at) })).records[0];
    return {
      record: (at) => read(key, at),
      marker: (at) => read(marker, at),
      changes: (after, signal) => changesOfKey(this.#connection, { key, after }, signal),
      assertKept: (revision) => this.#assertKept(revision),
    };
  }

  /** Linearizable, like every read of the driver. */
  async #range(request: RangeRequest): Promise<RangeResponse> {
    const response = await this.#connection.read(rangeMethod, request);
    this.#headMoved(response.header.revision);
    return response;
  }

  #headMoved(head: Revision): void {
    this.#headSeen = Math.max(this.#headSeen, head);
    for (const watch of this.#watches) watch.headMoved(head);
  }

  #toListed(record: KeyValue): StoreRecord {
    const key = this.#keys.fromEtcd(record.key);
    // Ranges begin after the marker.
    if (key === undefined) throw new StoreError('corrupt', 'etcd listed a key outside of the range asked for');
    return toRecord(key, record);
  }
}

/** Why a transaction was refused; `current` holds its keys as they are. */
const refusalOfFirst = (sent: readonly SentWrite[], current: readonly (KeyValue | undefined)[]): StoreError => {
  const index = sent.findIndex((write, index) => (current[index]?.modRevision ?? 0) !== guardOf(write));
  return refusalOf(sent[Math.max(index, 0)] as SentWrite, current[Math.max(index, 0)]);
};

/**
 * A revision that never matches if `expected` is 0 for an update or deletion: to etcd, 0 would mean that the key does
 * not exist.
 */
const guardOf = ({ verb, expected }: Pick<SentWrite, 'verb' | 'expected'>): Revision =>
  verb === 'create' || expected > 0 ? expected : Number.MAX_SAFE_INTEGER;

const zeroByte = Uint8Array.of(0);

const toRecord = (key: string, { value, modRevision }: KeyValue): StoreRecord => ({
  key,
  value: withoutWriteId(value),
  revision: modRevision,
});

/** etcd interprets 0 as "latest". Its history begins empty at revision 1, which is also the state before it. */
const revisionOf = (at: Revision | undefined): { readonly revision?: Revision } =>
  at === undefined ? {} : { revision: Math.max(at, 1) };

/** How many records of this size make up a page of `limits.etcdPageBytes`. */
const nextPageMax = (records: readonly KeyValue[]): number => {
  const bytes = records.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
  const fitting = Math.floor((limits.etcdPageBytes * records.length) / Math.max(bytes, 1));
  return Math.min(Math.max(fitting, 1), limits.etcdPageMax);
};
