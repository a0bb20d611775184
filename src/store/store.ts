/**
 * The store: ordered keys with bytes, and one increasing revision for all writes, as in etcd. It knows nothing of the
 * API. Every driver, and the cache in front of it, passes `conformance/`.
 *
 * Guarantees, which a driver may not weaken:
 * - Writes are strictly serializable and durable before their promise resolves. A write whose promise was rejected has
 *   not happened and never will, whatever the code, but for one: with `unknownOutcome` it may have happened, or may
 *   happen yet. Nobody runs such a write again: only a read can tell what became of it. A store answers so as seldom as
 *   it can: before it does, it looks whether exactly this write happened, and resolves or rejects by what it finds.
 * - A reader never sees a write before it is durable; after a write's promise resolved every reader of this store sees it.
 * - Each write has its own revision, larger than all before, also across restarts, backup and restore. Only writes of one
 *   `batch` may share a revision.
 * - The change stream is ordered by revision, complete, without repetition, and never splits a revision.
 *
 * Keys are well-formed, non-empty strings. A store may bound the size of values: writes of larger ones fail with `tooLarge`.
 * Values belong to whoever reads them next: neither a caller nor a store changes bytes after handing them over. A value may
 * be a view on a larger buffer; who keeps few of many for long copies them.
 */

/** A position in the history of the store. Starts at 1, without a key; a safe integer. Revision 0 means "none". */
export type Revision = number;

export interface StoreRecord {
  readonly key: string;
  readonly value: Uint8Array;
  /** Of the write that made this value. */
  readonly revision: Revision;
  /** The value is kept in a form that is out of date: writing it anew, unchanged, brings it up to date. */
  readonly stale?: boolean;
  /** Why the value cannot be read; it is empty then. The key can be deleted and written as any other. */
  readonly corrupt?: StoreError;
}

export interface ListOptions {
  /** Read as of this revision; `compacted` or `futureRevision` where that cannot be. Absent: most recent. */
  readonly at?: Revision;
  /** Only keys that sort after this one. Keys sort by their UTF-8 bytes. */
  readonly after?: string;
  /** At most this many records. Absent: all. 0: only what remains is asked for. */
  readonly limit?: number;
  /**
   * How well `Page.remaining` must be known. `exact`, which is what is done where this is absent: the number; costs up to
   * O(keys that follow). `whether`: at least 1 where a key follows, else 0, in O(log n) where the driver can; it may give
   * the number.
   */
  readonly remaining?: 'exact' | 'whether';
}

export interface Page {
  readonly records: readonly StoreRecord[];
  /** The revision that the page shows: `at`, or the head when `at` was absent. */
  readonly revision: Revision;
  /** How many keys of the prefix follow the last record of this page; no more than whether any do, if that was asked. */
  readonly remaining: number;
}

/** Acknowledges a durable write. */
export interface Committed {
  readonly revision: Revision;
}

export interface UpdateOptions {
  /** The write is a step of a deletion: a store that keeps room for deletions takes it, although it makes the value larger. */
  readonly deletion?: boolean;
}

/** One write of a batch, with what `create`, `update` and `delete` take. */
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
  /** Every change up to this revision has now been delivered. Never goes back. */
  readonly revision: Revision;
}

/** What a record of history takes beside its value: its key, its place in indexes. An estimate. */
export const historyRecordBytes = 128;

/** What a change adds to history: the record that it replaced. */
export const historyBytesOf = (change: Change): number =>
  change.type === 'create' ? 0 : change.previous.value.length + historyRecordBytes;

export interface Store {
  /** The revision of the last durable write, linearizable: not older than any write acknowledged before the call. */
  head(): Promise<Revision>;

  /**
   * What `head` would answer, where that is known without asking anyone: in a store that makes all writes itself, while it
   * is open. Otherwise undefined (etcd, where others write too).
   */
  readonly knownHead?: Revision | undefined;

  /** The record of a key, or undefined where there is none (also where it was deleted). `at` as in ListOptions. */
  get(key: string, at?: Revision): Promise<StoreRecord | undefined>;

  /** Records whose key starts with `prefix`, in order of key, from one revision. */
  list(prefix: string, options?: ListOptions): Promise<Page>;

  /** Fails with `exists` where the key is there. */
  create(key: string, value: Uint8Array): Promise<Committed>;

  /** Fails with `conflict` where the key is at another revision than `expected`, with `notFound` where it is absent. */
  update(key: string, value: Uint8Array, expected: Revision, options?: UpdateOptions): Promise<Committed>;

  /** As `update`; the removal has a revision of its own. */
  delete(key: string, expected: Revision): Promise<Committed>;

  /**
   * All of the writes, or none: judged together, durable together, and the head moves past all of them at once. Resolves with
   * one `Committed` for each write, in their order. No key may come twice (RangeError). No writes: resolves at once.
   *
   * - Revisions: consecutive in a store that numbers its writes itself, with no write of others in between. In one whose
   *   transactions have a single revision (etcd) all writes have that one. A reader at most recent, and a change stream that has
   *   reached the last revision, sees all; a read `at` a revision between the first and the last sees the writes up to it.
   * - Change streams have the writes in their order. A shared revision comes in one `ChangeBatch`, and who stops reading amid it must not
   *   go on after it; the writes of other batches may come in several.
   * - A write that cannot be done refuses the batch with the error of that write (`exists`, `conflict`, `notFound`, `full`);
   *   `key` names the first such write. After a lost answer it may name a later one.
   * - `tooLarge`: more than `limits.storeBatchWritesMax` writes, or `limits.storeBatchBytesMax` bytes, or more than the store
   *   takes in one transaction: etcd 128 operations (`--max-txn-ops`; a batch with a deletion needs one more) and 1.5 MiB
   *   (`--max-request-bytes`). Nothing was written. A store never divides a batch; a caller that can do with several does.
   * - `unknownOutcome`: as for a single write; still all of it or nothing.
   */
  batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]>;

  /**
   * Every change after `from`, then what follows, until `signal` aborts (the iteration then ends without an error).
   * Throws `compacted` where history does not reach back to `from`, `unavailable` when the change stream broke (start again from
   * the last batch's revision). A `from` beyond the head waits for it. Batches that only report progress come at least
   * when the head moved without a change to report.
   */
  changes(from: Revision, signal: AbortSignal): AsyncIterable<ChangeBatch>;

  /**
   * Forgets history before `upTo`: reads at, and change streams from, an earlier revision fail with `compacted`; a read at
   * `upTo` itself still works. Current values stay. Does nothing when history before `upTo` is gone already; fails with
   * `futureRevision` beyond the head.
   */
  compact(upTo: Revision): Promise<void>;

  /** Bytes that the store takes up where it keeps its data: history, indexes and room for reuse included. */
  size(): Promise<number>;

  /**
   * Bytes that only history holds: records that changes up to `upTo` replaced or deleted, each with `historyRecordBytes` for
   * what comes with it. May take long, and is absent where the store cannot say.
   */
  historySize?(upTo: Revision): Promise<number>;

  /** Ends change streams (they throw `unavailable`), finishes writes under way, gives the file or connection back. Later calls fail with `unavailable`. */
  close(): Promise<void>;
}

export type StoreErrorCode =
  | 'notFound'
  | 'exists'
  | 'conflict'
  | 'compacted'
  | 'futureRevision'
  /** The store cannot be reached; a write was not sent. */
  | 'unavailable'
  /** Only of writes: sent, and nobody can say whether it was done. */
  | 'unknownOutcome'
  | 'corrupt'
  | 'full'
  | 'tooLarge';

/** What went wrong, as data. Text for people is made where the error is shown. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  readonly key: string | undefined;
  /** With `conflict`: the revision the key is at. With `compacted`: the oldest that can be read. */
  readonly revision: Revision | undefined;

  constructor(
    code: StoreErrorCode,
    message: string,
    data: { readonly key?: string; readonly revision?: Revision; readonly cause?: unknown } = {},
  ) {
    super(message, data.cause === undefined ? undefined : { cause: data.cause });
    this.name = 'StoreError';
    this.code = code;
    this.key = data.key;
    this.revision = data.revision;
  }
}

/** True for a StoreError of that code. */
export const isStoreError = (error: unknown, code: StoreErrorCode): error is StoreError =>
  error instanceof StoreError && error.code === code;
