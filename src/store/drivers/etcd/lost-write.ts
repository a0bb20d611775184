import { type Clock, pause } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';
import { type Committed, type Revision, StoreError } from '../../store.ts';
import { isOutOfSpace, isServiceError, isTransient } from './etcd-errors.ts';
import type { KeyValue, WatchEvent } from './etcd-messages.ts';
import { isWrittenBy, type WriteId } from './write-id.ts';

/** A write that went to etcd. */
export interface SentWrite {
  readonly verb: 'create' | 'update' | 'delete';
  /** As callers name it. */
  readonly key: string;
  /** What the key's last modification had to be; 0: the key had to be absent. */
  readonly expected: Revision;
  readonly id: WriteId;
  /** False for a deletion that left its id nowhere. */
  readonly marked: boolean;
  /** Not older than `expected`, and reached before the write was sent: it can only have happened after. */
  readonly since: Revision;
}

/** What of etcd is looked at. Linearizable; failures are StoreErrors but for those of `changes`. */
export interface WrittenKey {
  record(at?: Revision): Promise<KeyValue | undefined>;
  /** The key that carries the ids of deletions. */
  marker(at?: Revision): Promise<KeyValue | undefined>;
  /** Of the key, oldest first. */
  changes(after: Revision, signal: AbortSignal): AsyncIterable<WatchEvent>;
  /** Throws `compacted` where history does not reach back to `revision`. */
  assertKept(revision: Revision): Promise<void>;
}

/** A write, and where it can be looked for. */
interface LookedFor {
  readonly write: SentWrite;
  readonly key: WrittenKey;
}

interface SettleOptions {
  /** Why it is in doubt. */
  readonly error: StoreError;
  readonly clock: Clock;
  /** The store closes. */
  readonly ended: AbortSignal;
}

type LostWriteOptions = LookedFor & SettleOptions;

type Finding =
  | { readonly type: 'done'; readonly revision: Revision }
  /** It has not happened and never will. */
  | { readonly type: 'refused'; readonly error: StoreError }
  | { readonly type: 'unknown' };

const unknown: Finding = { type: 'unknown' };

/** Writes of one transaction that are looked for, each with a watch of its own. */
const witnessesMax = 16;

/**
 * Finds out what became of the writes of one transaction whose answer did not come: `done` at its revision, also where
 * others have changed the keys since; `refused` where somebody else was first; else `unknownOutcome`. It only reads, and never
 * sends the writes again.
 *
 * Why what it finds is so:
 * - All of the writes were done or none: what is found of one holds for all.
 * - Every value carries the id of the transaction that made it, and every transaction with a deletion puts its id into the
 *   marker key. A change with the id is of this transaction, and none without it is.
 * - An update or deletion compares the revision of the key's last modification with `expected`, and no revision comes twice:
 *   it can only be the first change after that. If the first one is another's, the comparison fails whenever it is made.
 * - A creation compares the key with being absent, which comes again: it may still happen while the answer is awaited, after
 *   somebody deleted the key. So a creation that is not found is never `refused`. One of them is looked for where the
 *   transaction has nothing else.
 * - A read says nothing of a write that etcd has taken but not yet done, or that is still on its way. So what is not found
 *   is waited for, `limits.etcdSettleMsMax`, and is unknown after that.
 * - History that was compacted meanwhile says nothing.
 */
export const settle = async (writes: readonly LookedFor[], options: SettleOptions): Promise<Committed> => {
  const guarded = writes.filter(({ write }) => write.verb !== 'create').slice(0, witnessesMax);
  const known = new AbortController();
  const ended = AbortSignal.any([options.ended, known.signal]);
  const outcomes = await Promise.allSettled(
    (guarded.length > 0 ? guarded : writes.slice(0, 1)).map(async (each) => {
      const finding = await new LostWrite({ ...each, ...options, ended }).find();
      // The others need not look any longer.
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

const inDoubt = (writes: readonly LookedFor[], { message }: StoreError, cause: unknown): StoreError => {
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

  /** Goes through the changes of the key, and waits for more. */
  async #wait(current: KeyValue | undefined): Promise<Finding> {
    const { clock, ended, key, write } = this.#options;
    const patience = new AbortController();
    const timer = clock.after(limits.etcdSettleMsMax, () => patience.abort());
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
      // A creation was not among the changes that made what is there, and cannot happen as long as that is there.
      if (write.verb === 'create' && current && change.record.modRevision >= current.modRevision) return unknown;
    }
    return undefined;
  }

  /** Undefined where a later change may tell more. */
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

  /** etcd has dealt with the write, one way or the other. */
  get #isOver(): boolean {
    return isOutOfSpace(this.#options.error.cause);
  }

  #notDone(): Finding {
    const { key } = this.#options.write;
    const { message, cause } = this.#options.error;
    return { type: 'refused', error: new StoreError('full', message, { key, cause }) };
  }
}

/** Between two attempts to follow the changes of the key. */
const retryMs = 100;

/** Why a write that etcd looked at was not done; `current` is the key as it is, or was when it was looked at. */
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
