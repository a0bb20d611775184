import { type Clock, pause } from '../../../base/time/clock.ts';
import { type Committed, type Revision, StoreError } from '../../store.ts';
import { isOutOfSpace, isServiceError, isTransient } from './etcd-errors.ts';
import type { KeyValue, WatchEvent } from './etcd-messages.ts';
import { isWrittenBy, type WriteId } from './write-id.ts';

/** A write that was sent to etcd. */
export interface SentWrite {
  readonly verb: 'create' | 'update' | 'delete';
  /** The store key. */
  readonly key: string;
  /** The required revision of the key's last modification; 0: the key must not exist. */
  readonly expected: Revision;
  readonly id: WriteId;
  /** False for a deletion whose id was not stored anywhere. */
  readonly marked: boolean;
  /** Not older than `expected`, and reached before the write was sent: the write can only have happened after it. */
  readonly since: Revision;
}

/** The reads of etcd that the search needs. Linearizable; failures are StoreErrors, except those of `changes`. */
export interface KeyReader {
  record(at?: Revision): Promise<KeyValue | undefined>;
  /** The key that carries the ids of deletions. */
  marker(at?: Revision): Promise<KeyValue | undefined>;
  /** Changes of the key, oldest first. */
  changes(after: Revision, signal: AbortSignal): AsyncIterable<WatchEvent>;
  /** Throws `compacted` if history does not reach back to `revision`. */
  assertKept(revision: Revision): Promise<void>;
}

/** A write in doubt, and the key where its effect can be found. */
interface WriteInDoubt {
  readonly write: SentWrite;
  readonly key: KeyReader;
}

interface SettleOptions {
  /** Why it is in doubt. */
  readonly error: StoreError;
  readonly clock: Clock;
  /** Aborted when the store closes. */
  readonly ended: AbortSignal;
  /** How long to wait for a write that is not found. */
  readonly patienceMs: number;
}

type LostWriteOptions = WriteInDoubt & SettleOptions;

type Finding =
  | { readonly type: 'done'; readonly revision: Revision }
  /** It has not happened and never will. */
  | { readonly type: 'refused'; readonly error: StoreError }
  | { readonly type: 'unknown' };

const unknown: Finding = { type: 'unknown' };

/** Largest number of writes of one transaction to search for, each with its own watch. */
const witnessesMax = 16;

/**
 * Determines the outcome of the writes of one transaction whose response was lost: `done` at its revision, even if
 * others have changed the keys since; `refused` if another writer was first; otherwise `unknownOutcome`. It only reads.
 * How often the transaction was sent does not matter: its copies have the same id.
 *
 * Why the result is correct:
 * - Either all of the writes were done or none: the outcome of one holds for all.
 * - Every value carries the id of the transaction that wrote it, and every transaction with a deletion puts its id into
 *   the marker key. A change with the id belongs to this transaction, and none without it does.
 * - An update or deletion compares the revision of the key's last modification with `expected`, and revisions are never
 *   reused: it can only be the first change after `expected`. If that change is another writer's, the comparison fails
 *   whenever it is evaluated.
 * - A creation requires that the key does not exist, which can become true again: while the outcome is pending, it may
 *   still happen after another client deleted the key. So a creation that is not found is never `refused`. A creation
 *   is searched for only if the transaction has nothing else.
 * - A read does not reveal a write that etcd has accepted but not yet applied, or that is still on the network. So a
 *   write that is not found is awaited for `patienceMs`; after that, its outcome is unknown.
 * - If history was compacted meanwhile, the search is inconclusive.
 */
export const settle = async (writes: readonly WriteInDoubt[], options: SettleOptions): Promise<Committed> => {
  const guarded = writes.filter(({ write }) => write.verb !== 'create').slice(0, witnessesMax);
  const known = new AbortController();
  const ended = AbortSignal.any([options.ended, known.signal]);
  const outcomes = await Promise.allSettled(
    (guarded.length > 0 ? guarded : writes.slice(0, 1)).map(async (each) => {
      const finding = await new LostWrite({ ...each, ...options, ended }).find();
      // The other searches can stop.
      if (finding.type !== 'unknown') known.abort();
      return finding;
    }),
  );
  let cause = options.error.cause;
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') cause = outcome.reason;
    else if (outcome.value.type === 'done') return { revision: outcome.value.revision };
    else if (outcome.value.type === 'refused') throw outcome.value.error;
  }
  throw inDoubt(writes, options.error, cause);
};

const inDoubt = (writes: readonly WriteInDoubt[], { message }: StoreError, cause: unknown): StoreError => {
  const [first] = writes;
  const key = first?.write.key ?? '';
  const what = writes.length > 1 ? `batch with the ${first?.write.verb}` : first?.write.verb;
  return new StoreError('unknownOutcome', `whether the ${what} of ${key} was done is not known: ${message}`, {
    key,
    cause,
  });
};

class LostWrite {
  readonly #options: LostWriteOptions;

  constructor(options: LostWriteOptions) {
    this.#options = options;
  }

  async find(): Promise<Finding> {
    const { write, key } = this.#options;
    const current = await key.record();
    if (current && isWrittenBy(current.value, write.id)) return { type: 'done', revision: current.modRevision };
    if (!current && write.verb === 'delete') {
      const marker = await key.marker();
      if (marker && isWrittenBy(marker.value, write.id)) return { type: 'done', revision: marker.modRevision };
    }
    if (write.verb !== 'create') {
      if (current?.modRevision === write.expected) {
        if (this.#isOver) return this.#notDone();
      } else if ((await key.record(write.since))?.modRevision !== write.expected) {
        return { type: 'refused', error: refusalOf(write, current) };
      }
    }
    return this.#wait(current);
  }

  /** Reads the changes of the key, and waits for more. */
  async #wait(current: KeyValue | undefined): Promise<Finding> {
    const { clock, ended, key, write } = this.#options;
    const patience = new AbortController();
    const timer = clock.after(this.#options.patienceMs, () => patience.abort());
    const signal = AbortSignal.any([patience.signal, ended]);
    try {
      while (!signal.aborted) {
        try {
          const finding = await this.#firstFinding(key.changes(write.since, signal), current);
          if (finding) {
            await key.assertKept(write.since);
            return finding;
          }
        } catch (error) {
          if (!isServiceError(error) || !isTransient(error)) throw error;
        }
        await pause(clock, retryMs, signal);
      }
    } finally {
      timer.close();
      patience.abort();
    }
    return this.#isOver ? this.#notDone() : unknown;
  }

  async #firstFinding(changes: AsyncIterable<WatchEvent>, current: KeyValue | undefined): Promise<Finding | undefined> {
    const { write } = this.#options;
    for await (const change of changes) {
      const finding = await this.#judge(change);
      if (finding) return finding;
      // The creation is not among the changes up to the current record, and cannot happen while that record exists.
      if (write.verb === 'create' && current && change.record.modRevision >= current.modRevision) return unknown;
    }
    return undefined;
  }

  /** Undefined if a later change may be conclusive. */
  async #judge({ type, record }: WatchEvent): Promise<Finding | undefined> {
    const { write } = this.#options;
    const revision = record.modRevision;
    if (type === 'put' && isWrittenBy(record.value, write.id)) return { type: 'done', revision };
    if (write.verb === 'create') return undefined;
    const refused: Finding = { type: 'refused', error: refusalOf(write, type === 'put' ? record : undefined) };
    return write.verb === 'delete' && type === 'delete' ? this.#judgeDeletion(revision, refused) : refused;
  }

  async #judgeDeletion(revision: Revision, refused: Finding): Promise<Finding> {
    const { write, key } = this.#options;
    const marker = await key.marker(revision);
    const isMarked = marker?.modRevision === revision;
    if (isMarked && isWrittenBy(marker.value, write.id)) return { type: 'done', revision };
    return isMarked || write.marked ? refused : unknown;
  }

  /** The outcome of the write is final, one way or the other. */
  get #isOver(): boolean {
    return isOutOfSpace(this.#options.error.cause);
  }

  #notDone(): Finding {
    const { key } = this.#options.write;
    const { message, cause } = this.#options.error;
    return { type: 'refused', error: new StoreError('full', message, { key, cause }) };
  }
}

/** Between two attempts to watch the key. */
const retryMs = 100;

/** Why etcd refused a write; `current` is the key as it is, or as it was when the guard was evaluated. */
export const refusalOf = (
  { verb, key, expected }: Pick<SentWrite, 'verb' | 'key' | 'expected'>,
  current: KeyValue | undefined,
): StoreError => {
  const revision = current === undefined ? {} : { revision: current.modRevision };
  if (verb === 'create') return new StoreError('exists', `key ${key} exists`, { key, ...revision });
  if (!current) return new StoreError('notFound', `key ${key} is absent`, { key });
  const message = `key ${key} is at revision ${current.modRevision}, not ${expected}`;
  return new StoreError('conflict', message, { key, ...revision });
};
