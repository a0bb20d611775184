/**
 * The store: an ordered key-value map with one increasing revision for all writes, as in etcd. It knows nothing of the
 * API. Every driver, and the cache in front of it, passes `conformance/`.
 *
 * Guarantees that every driver must keep:
 * - Writes are strictly serializable, and durable before their promise resolves. A write whose promise was rejected has
 *   not happened and never will, with one exception: after `unknownOutcome` it may have happened, or may still happen.
 *   Such a write must not be retried: only a read can tell its outcome. A store reports `unknownOutcome` as rarely as
 *   possible: it first checks whether exactly this write happened, and resolves or rejects accordingly.
 * - A reader never sees a write before it is durable; after a write's promise resolved, every reader of this store sees
 *   it.
 * - Each write has its own revision, larger than all before, also across restarts, backup and restore. Only writes of
 *   one `batch` may share a revision.
 * - The change stream is ordered by revision, complete and without duplicates, and never splits a revision.
 *
 * Keys are well-formed, non-empty strings. A store may limit the size of values: larger writes fail with `tooLarge`.
 * Values are immutable once passed: neither a caller nor a store modifies bytes after handing them over. A value may be
 * a view on a larger buffer; callers that retain few of many values for long should copy them.
 */

import type { ByteSpan } from '../base/collections/byte-span.ts';
import type { Span } from '../base/span.ts';

/** A position in the history of the store. Starts at 1, with no keys; a safe integer. Revision 0 means "none". */
export type Revision = number;

export interface StoreRecord {
  readonly key: string;
  readonly value: Uint8Array;
  /** Revision of the write that produced this value. */
  readonly revision: Revision;
  /** The value is stored in an outdated form: writing it again, unchanged, brings it up to date. */
  readonly stale?: boolean;
  /** Why the value cannot be read; the value is then empty. The key can be deleted and written like any other. */
  readonly corrupt?: StoreError;
  /** See `ListOptions.room`. Ends where the value begins. */
  readonly room?: ByteSpan;
}

export interface ListOptions {
  /** Read at this revision; fails with `compacted` or `futureRevision` if that is impossible. Default: the latest. */
  readonly at?: Revision;
  /** Only keys that sort after this one. Keys sort by their UTF-8 bytes. */
  readonly after?: string;
  /** Maximum number of records. Default: all. 0: only `remaining` is wanted. */
  readonly limit?: number;
  /**
   * Precision of `Page.remaining`. `exact` (default): the number; costs up to O(number of following keys). `whether`:
   * at least 1 if a key follows, else 0, in O(log n) if the driver can; it may still be the exact number.
   */
  readonly remaining?: 'exact' | 'whether';
  /**
   * For a reader that keeps all records: in front of each value it has so many bytes, and one more for each decimal digit of
   * its revision. Values that follow each other do so in memory, with nothing between but this room. Room and value are then
   * the reader's, who may change them. A store that has no memory of its own to give away ignores it: each record tells.
   */
  readonly room?: number;
}

export interface Page {
  readonly records: readonly StoreRecord[];
  /** The revision of the page: `at`, or the head if `at` was not given. */
  readonly revision: Revision;
  /** Number of keys of the prefix after the last record of this page; with `whether`, only whether there are any. */
  readonly remaining: number;
}

/** Acknowledges a durable write. */
export interface Committed {
  readonly revision: Revision;
}

export interface WriteOptions {
  /** The operation that writes, if it is traced. A store that asks others takes the trace on. */
  readonly span?: Span | undefined;
}

export interface UpdateOptions extends WriteOptions {
  /**
   * The write is a step of a deletion: a store that reserves room for deletions accepts it although it enlarges the
   * value.
   */
  readonly deletion?: boolean;
}

/** One write of a batch, with the arguments of `create`, `update` and `delete`. */
export type BatchWrite =
  | { readonly verb: 'create'; readonly key: string; readonly value: Uint8Array }
  | { readonly verb: 'update'; readonly key: string; readonly value: Uint8Array; readonly expected: Revision }
  | { readonly verb: 'delete'; readonly key: string; readonly expected: Revision };

export type Change =
  | ({ readonly type: 'create' } & StoreRecord)
  | ({ readonly type: 'update'; readonly previous: StoreRecord } & StoreRecord)
  | { readonly type: 'delete'; readonly key: string; readonly revision: Revision; readonly previous: StoreRecord };

export interface ChangeBatch {
  /** In order of revision. Empty in a batch that only reports progress. */
  readonly changes: readonly Change[];
  /** Every change up to this revision has now been delivered. Never decreases. */
  readonly revision: Revision;
}

/** Estimated overhead of a record in history besides its value: its key and index entries. */
export const historyRecordBytes = 128;

/** The value that a change writes; undefined for a deletion. */
export const writtenValue = (change: Change): Uint8Array | undefined =>
  change.type === 'delete' ? undefined : change.value;

/** Bytes that a change adds to history: the record that it replaced. */
export const historyBytesOf = (change: Change): number =>
  change.type === 'create' ? 0 : change.previous.value.length + historyRecordBytes;

export interface Store {
  /** The revision of the last durable write, linearizable: not older than any write acknowledged before the call. */
  head(): Promise<Revision>;

  /**
   * What `head` would return, if known locally: while it is open, in a store that performs all writes itself. Otherwise
   * undefined (etcd, which has other writers).
   */
  readonly knownHead?: Revision | undefined;

  /**
   * Whether the form in which values of the key are stored may change while the store is open. Then a record may have
   * become stale since it was read, and only another read tells. Default: it does not.
   */
  formMayChange?(key: string): boolean;

  /** The record of a key, or undefined if it does not exist (or was deleted). `at` as in ListOptions. */
  get(key: string, at?: Revision): Promise<StoreRecord | undefined>;

  /** Records whose key starts with `prefix`, in order of key, from one revision. */
  list(prefix: string, options?: ListOptions): Promise<Page>;

  /** Fails with `exists` if the key exists. */
  create(key: string, value: Uint8Array, options?: WriteOptions): Promise<Committed>;

  /** Fails with `conflict` if the key is at a revision other than `expected`, with `notFound` if it does not exist. */
  update(key: string, value: Uint8Array, expected: Revision, options?: UpdateOptions): Promise<Committed>;

  /** As `update`; the deletion has its own revision. */
  delete(key: string, expected: Revision, options?: WriteOptions): Promise<Committed>;

  /**
   * All of the writes, or none: their preconditions are checked together, they become durable together, and the head
   * moves past all of them at once. Resolves with one `Committed` per write, in their order. Duplicate keys are a
   * RangeError. Without writes, resolves at once.
   *
   * - Revisions: consecutive in a store that assigns revisions itself, with no other write in between. In a store whose
   *   transactions have a single revision (etcd), all writes share it. A read of the latest state, and a change stream
   *   that has reached the last revision, sees all; a read `at` a revision between the first and the last sees the
   *   writes up to it.
   * - Change streams deliver the writes in their order. Writes that share a revision come in one `ChangeBatch`, and a
   *   reader that stops within it must not resume after that revision; the writes of other batches may be spread over
   *   several.
   * - If one write is refused, the batch is refused with its error (`exists`, `conflict`, `notFound`, `full`); `key`
   *   names the first such write. After a lost response it may name a later one.
   * - `tooLarge`: more than `limits.storeBatchWritesMax` writes, or `limits.storeBatchBytesMax` bytes, or more than the
   *   store accepts in one transaction: for etcd 128 operations (`--max-txn-ops`; a batch with a deletion needs one
   *   more) and 1.5 MiB (`--max-request-bytes`). Nothing was written. A store never splits a batch; that is up to the
   *   caller.
   * - `unknownOutcome`: as for a single write; still all of it or nothing.
   * - On a server that stands in for etcd and takes one write in a transaction (kine): the writes are done one after the
   *   other, each with its own revision, others' writes in between; readers can see a part, a crash can leave one, and
   *   `unknownOutcome` may be a part. A batch that is refused is undone.
   */
  batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]>;

  /**
   * Every change after `from`, then later ones as they happen, until `signal` aborts (the iteration then ends without
   * an error). Throws `compacted` if history does not reach back to `from`, `unavailable` if the change stream broke
   * (resume from the last batch's revision). If `from` is beyond the head, waits for it. Batches that only report
   * progress are sent at least whenever the head advanced without a change to report.
   */
  changes(from: Revision, signal: AbortSignal): AsyncIterable<ChangeBatch>;

  /**
   * Discards history before `upTo`: reads at an earlier revision, and change streams from one, fail with `compacted`; a
   * read at `upTo` itself still works. Current values are kept. Does nothing if history before `upTo` is already
   * discarded; fails with `futureRevision` beyond the head.
   */
  compact(upTo: Revision): Promise<void>;

  /**
   * Of several servers that share the store and compact it in turn, whether it is this one's: who gets true compacts up to
   * the revision, the others have a turn when it does not take its next one. Absent if a store has one server.
   */
  takeCompactionTurn?(upTo: Revision): Promise<boolean>;

  /**
   * Alarms that are raised, by their names in etcd: `NOSPACE`, `CORRUPT`. While there is one, nobody can write. Absent if a
   * store has none.
   */
  alarms?(): Promise<readonly string[]>;

  /** Bytes that the store occupies: history, indexes and reusable free space included. */
  size(): Promise<number>;

  /**
   * Bytes that only history occupies: records that changes up to `upTo` replaced or deleted, each with
   * `historyRecordBytes` of overhead. May take long. Absent if the store cannot tell.
   */
  historySize?(upTo: Revision): Promise<number>;

  /**
   * Ends change streams (they throw `unavailable`), finishes pending writes, and releases the file or connection. Later
   * calls fail with `unavailable`.
   */
  close(): Promise<void>;
}

/** What a store does with single keys, whose history nobody asks for. Of several stores, each key belongs to one. */
export type KeyStore = Pick<Store, 'formMayChange' | 'get' | 'list' | 'create' | 'update' | 'delete' | 'batch'>;

export type StoreErrorCode =
  | 'notFound'
  | 'exists'
  | 'conflict'
  | 'compacted'
  | 'futureRevision'
  /** The store cannot be reached; a write was not sent. */
  | 'unavailable'
  /** Only for writes: sent, but whether it was applied cannot be determined. */
  | 'unknownOutcome'
  | 'corrupt'
  | 'full'
  | 'tooLarge';

/** An error as code and data. Text for users is created where the error is shown. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  readonly key: string | undefined;
  /** For `conflict`: the revision of the key. For `compacted`: the oldest readable revision. */
  readonly revision: Revision | undefined;
  /** What an operator can do, where that depends on the driver. */
  readonly remedy: string | undefined;

  constructor(
    code: StoreErrorCode,
    message: string,
    data: {
      readonly key?: string;
      readonly revision?: Revision;
      readonly cause?: unknown;
      readonly remedy?: string;
    } = {},
  ) {
    super(message, data.cause === undefined ? undefined : { cause: data.cause });
    this.name = 'StoreError';
    this.code = code;
    this.key = data.key;
    this.revision = data.revision;
    this.remedy = data.remedy;
  }
}

/** True for a StoreError with that code. */
export const isStoreError = (error: unknown, code: StoreErrorCode): error is StoreError =>
  error instanceof StoreError && error.code === code;
