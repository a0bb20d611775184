import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Random } from '../../../base/random.ts';
import type { Span } from '../../../base/span.ts';
import type { Clock } from '../../../base/time/clock.ts';
import {
  type BatchWrite,
  type Committed,
  isStoreError,
  type Revision,
  StoreError,
  type StoreRecord,
  type WriteOptions,
} from '../../store.ts';
import type { EtcdConnection, Patience } from './etcd-connection.ts';
import { isOutOfSpace, isUnsupported } from './etcd-errors.ts';
import type { EtcdKeys } from './etcd-keys.ts';
import {
  guardedWritesMethod,
  type KeyValue,
  putMethod,
  type RangeRequest,
  type RangeResponse,
} from './etcd-messages.ts';
import { changesOfKey } from './key-history.ts';
import { type KeyReader, refusalOf, type SentWrite, settle } from './lost-write.ts';
import { isFrozen } from './member-connection.ts';
import { WriteIds, withoutWriteId, withWriteId } from './write-id.ts';

/** What writes need of their store. */
interface WriteSource {
  range(request: RangeRequest, patience: Patience): Promise<RangeResponse>;
  assertKept(revision: Revision, patience: Patience): Promise<void>;
  /** The highest head that etcd has reported. */
  headSeen(): Revision;
  headMoved(head: Revision): void;
}

interface EtcdWritesOptions {
  readonly connection: EtcdConnection;
  readonly keys: EtcdKeys;
  readonly source: WriteSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** One transaction, as it is sent. */
interface Transaction {
  readonly writes: readonly BatchWrite[];
  readonly sent: readonly SentWrite[];
  readonly span: Span | undefined;
  readonly giveUpAt: number;
}

/**
 * The writes of an etcd store, each as a transaction that compares the revisions of its keys.
 *
 * - A transaction that updates or deletes a key is sent again if its answer is lost, or late and there is another
 *   member: it compares a revision that is never reused, so that etcd does one of the copies at most. So a write that a
 *   leader took with it when it ended is done by the next one.
 * - A creation is not: once others have deleted what it created, a second copy would create it again.
 * - If that leaves the outcome open, it is searched for (`settle`).
 * - Of servers that stand in for etcd some, such as kine, know only transactions with one write (`probe`). Deletions
 *   then go without the marker, so that more of them have an unknown outcome if the answer is lost, and batches write by
 *   write: see `#oneByOne`.
 */
export class EtcdWrites {
  readonly #options: EtcdWritesOptions;
  readonly #ids: WriteIds;
  /** The server takes one write in a transaction. */
  #single = false;

  constructor(options: EtcdWritesOptions) {
    this.#options = options;
    this.#ids = new WriteIds(options.random);
  }

  /** All in one transaction, where the server can. One `Committed` per write. */
  async write(writes: readonly BatchWrite[], options: WriteOptions = {}): Promise<readonly Committed[]> {
    if (this.#single && writes.length > 1) return this.#oneByOne(writes);
    const committed = await this.#write(writes, options);
    return writes.map(() => committed);
  }

  /**
   * Makes sure that a write follows the revision. A compaction up to the head makes kine forget the head if that was a
   * deletion: revisions would go back.
   */
  async pass(revision: Revision): Promise<void> {
    const { connection, keys, source } = this.#options;
    if (!this.#single || revision < source.headSeen()) return;
    source.headMoved((await connection.write(putMethod, { key: keys.marker, value: noBytes })).revision);
  }

  /** Finds out which transactions the server takes, by one that changes nothing. Call it before the first write. */
  async probe(): Promise<void> {
    const { connection, keys, logger } = this.#options;
    const never = { key: keys.marker, modRevision: Number.MAX_SAFE_INTEGER };
    try {
      await connection.write(guardedWritesMethod, {
        writes: [never],
        beside: { key: keys.marker, value: noBytes },
      });
    } catch (error) {
      // Whatever else fails will fail again, and say so to whom it concerns.
      if (!isUnsupported(error)) return;
      logger.warn('etcd takes one write in a transaction only: batches of writes can be seen, and be left, in part');
      this.#single = true;
    }
  }

  async #write(writes: readonly BatchWrite[], { span }: WriteOptions): Promise<Committed> {
    try {
      return await this.#send(writes, { marked: !this.#single, span });
    } catch (error) {
      // A full etcd accepts deletions, but no put in the same transaction.
      if (!isStoreError(error, 'full') || this.#single || writes.some(({ verb }) => verb !== 'delete')) throw error;
      return this.#send(writes, { marked: false, span });
    }
  }

  /**
   * A batch without a transaction. Its preconditions are read first, and what was done is undone if a later write is
   * refused after all; but others can see a part of it, and after a crash a part remains.
   */
  async #oneByOne(writes: readonly BatchWrite[]): Promise<readonly Committed[]> {
    const before: (StoreRecord | undefined)[] = [];
    for (const write of writes) before.push(await this.#precondition(write));
    const done: Committed[] = [];
    try {
      for (const write of writes) done.push(await this.#write([write], {}));
      return done;
    } catch (error) {
      if (isStoreError(error, 'unknownOutcome')) throw error;
      await this.#undo(writes, before, done, error);
      throw error;
    }
  }

  /** The record that the write replaces. Rejects if the write would be refused. */
  async #precondition(write: BatchWrite): Promise<StoreRecord | undefined> {
    const { key } = write;
    const { records } = await this.#options.source.range({ key: this.#options.keys.toEtcd(key) }, {});
    const [current] = records;
    const sent = { verb: write.verb, key, expected: expectedBy(write) };
    if ((current?.modRevision ?? 0) !== guardOf(sent)) throw refusalOf(sent, current);
    return current && { key, value: withoutWriteId(current.value), revision: current.modRevision };
  }

  async #undo(
    writes: readonly BatchWrite[],
    before: readonly (StoreRecord | undefined)[],
    done: readonly Committed[],
    cause: unknown,
  ): Promise<void> {
    try {
      for (const [index, { revision }] of [...done.entries()].toReversed()) {
        const { key, verb } = writes[index] as BatchWrite;
        const { value = noBytes } = before[index] ?? {};
        if (verb === 'create') await this.#write([{ verb: 'delete', key, expected: revision }], {});
        else if (verb === 'delete') await this.#write([{ verb: 'create', key, value }], {});
        else await this.#write([{ verb, key, value, expected: revision }], {});
      }
    } catch (error) {
      this.#options.logger.error('a batch was done in part and could not be undone', { error, cause });
      throw new StoreError('unknownOutcome', 'a batch was done in part and could not be undone', { cause });
    }
  }

  /** `marked`: deletions store the id of the transaction in the marker key. */
  async #send(
    writes: readonly BatchWrite[],
    { marked, span }: WriteOptions & { readonly marked: boolean },
  ): Promise<Committed> {
    const { clock, logger, source } = this.#options;
    const id = this.#ids.next();
    const sent = writes.map((write): SentWrite => {
      const expected = expectedBy(write);
      return { verb: write.verb, key: write.key, expected, id, marked, since: Math.max(source.headSeen(), expected) };
    });
    const giveUpAt = clock.monotonic() + limits.etcdWriteTotalMsMax;
    const transaction = { writes, sent, span, giveUpAt };
    try {
      const committed = await this.#transact(transaction);
      const isCreation = this.#single && writes[0]?.verb === 'create';
      return isCreation
        ? await this.#find(transaction, { error: atAnotherRevision, patienceMs: limits.etcdSettleMsMax })
        : committed;
    } catch (error) {
      if (!isStoreError(error, 'unknownOutcome')) throw error;
      const repeated = canRepeat(writes) && !isOutOfSpace(error.cause) && (await this.#repeat(transaction));
      if (repeated) return repeated;
      logger.debug('writes went unanswered and are looked for', { writes: writes.map(({ key }) => key), error });
      return this.#find(transaction, {
        error,
        patienceMs: isFrozen(error.cause) ? limits.etcdSettleFrozenMsMax : limits.etcdSettleMsMax,
      });
    }
  }

  #find(
    { sent, giveUpAt }: Transaction,
    options: { readonly error: StoreError; readonly patienceMs: number },
  ): Promise<Committed> {
    const { clock, connection } = this.#options;
    const looked = sent.map((write) => ({ write, key: this.#written(write.key, giveUpAt) }));
    return settle(looked, { ...options, clock, ended: connection.ended });
  }

  /** Undefined if a search must tell the outcome: a copy was done, somebody else was first, or no answer. */
  async #repeat(transaction: Transaction): Promise<Committed | undefined> {
    const { clock, logger } = this.#options;
    for (let copy = 2; copy <= limits.etcdCopiesMax && clock.monotonic() < transaction.giveUpAt; copy++) {
      try {
        return await this.#transact(transaction, copy);
      } catch (error) {
        logger.debug('a repeated write was not done', { copy, error });
        if (!isStoreError(error, 'unknownOutcome')) return undefined;
      }
    }
    return undefined;
  }

  async #transact({ writes, sent, span, giveUpAt }: Transaction, copy = 1): Promise<Committed> {
    const { connection, keys, source, clock } = this.#options;
    const [{ id, marked }] = sent as readonly [SentWrite];
    const deletes = writes.some(({ verb }) => verb === 'delete');
    const request = {
      writes: writes.map((write, index) => ({
        key: keys.toEtcd(write.key),
        modRevision: guardOf(sent[index] as SentWrite),
        value: write.verb === 'delete' ? undefined : withWriteId(write.value, id),
      })),
      beside: deletes && marked ? { key: keys.marker, value: id } : undefined,
    };
    const hasNext = copy < limits.etcdCopiesMax && canRepeat(writes) && connection.hasAlternative;
    const sendUntil = Math.min(clock.monotonic() + limits.etcdRetryMsMax, giveUpAt);
    const { header, succeeded, current, deletedNothing } = await connection.write(guardedWritesMethod, request, {
      span,
      sendUntil,
      answerBy: giveUpAt,
      ...(hasNext ? { msMax: limits.etcdCopyMsMax } : {}),
    });
    source.headMoved(header.revision);
    if (succeeded && !deletedNothing) return { revision: header.revision };
    throw refusalOfFirst(sent, current);
  }

  #written(name: string, giveUpAt: number): KeyReader {
    const { connection, keys, source } = this.#options;
    const key = keys.toEtcd(name);
    const read = async (read: Uint8Array, at: Revision | undefined): Promise<KeyValue | undefined> =>
      (await source.range({ key: read, ...revisionOf(at) }, { giveUpAt })).records[0];
    return {
      record: (at) => read(key, at),
      marker: (at) => read(keys.marker, at),
      changes: (after, signal) => changesOfKey(connection, { key, after }, signal),
      assertKept: (revision) => source.assertKept(revision, { giveUpAt }),
    };
  }
}

/** etcd does one copy at most: the revision that an update or deletion compares does not come back. */
const canRepeat = (writes: readonly BatchWrite[]): boolean => writes.some(({ verb }) => verb !== 'create');

/** 0: the key must not exist. */
const expectedBy = (write: BatchWrite): Revision => (write.verb === 'create' ? 0 : write.expected);

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

/** kine answers the creation of a key that was deleted before with whatever revision it has by then. */
const atAnotherRevision = new StoreError('unknownOutcome', 'its revision is not known');

const noBytes = new Uint8Array(0);

/** etcd interprets 0 as "latest". Its history begins empty at revision 1, which is also the state before it. */
export const revisionOf = (at: Revision | undefined): { readonly revision?: Revision } =>
  at === undefined ? {} : { revision: Math.max(at, 1) };
