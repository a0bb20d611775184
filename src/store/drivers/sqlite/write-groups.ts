import { type Change, type Committed, isStoreError, type Revision, StoreError } from '../../store.ts';
import {
  type BatchOutcome,
  packBatch,
  packedSizeMax,
  packWrite,
  unpackOutcomes,
  type WriteOutcome,
  type WriteRequest,
} from './messages.ts';
import { Packer } from './packing.ts';

interface WaitingWrite extends WriteRequest {
  resolve(committed: Committed): void;
  reject(error: unknown): void;
}

interface WaitingBatch {
  readonly verb: 'batch';
  readonly writes: readonly WriteRequest[];
  resolve(committed: readonly Committed[]): void;
  reject(error: unknown): void;
}

interface WriteGroupsOptions {
  readonly commit: (group: ArrayBuffer) => Promise<ArrayBuffer>;
  /** Called with the durable changes of each group, in order, before the promises of the writes resolve. */
  readonly published: (changes: readonly Change[]) => void;
  /** Called after each group that found only the room reserved for deletions. */
  readonly becameFull: () => void;
  /** Called after each group that failed as a whole for another reason. */
  readonly failed: (error: unknown) => void;
}

/** Limits of one group; the rest waits for the next one. A batch is not split. */
const groupWritesMax = 1_024;
const groupBytesMax = 8 * 1024 * 1024;

/**
 * Groups in flight. While the worker waits for the disk with one, this thread packs the next; more would only make
 * groups smaller.
 */
const groupsUnderWayMax = 2;

/**
 * Group commit: collects the writes that arrive while others are in flight and commits them together, with one sync to
 * disk. Callers bound the number of waiting writes (`limits.writesInFlightMax`).
 */
export class WriteGroups {
  readonly #commit: (group: ArrayBuffer) => Promise<ArrayBuffer>;
  readonly #published: (changes: readonly Change[]) => void;
  readonly #becameFull: () => void;
  readonly #failed: (error: unknown) => void;
  #waiting: (WaitingWrite | WaitingBatch)[] = [];
  #underWay = 0;
  #scheduled = false;
  #idle: (() => void)[] = [];

  constructor({ commit, published, becameFull, failed }: WriteGroupsOptions) {
    this.#commit = commit;
    this.#published = published;
    this.#becameFull = becameFull;
    this.#failed = failed;
  }

  write(request: WriteRequest): Promise<Committed> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...request, resolve, reject });
      this.#schedule();
    });
  }

  /** All of the writes or none, as `Store.batch`. */
  batch(writes: readonly WriteRequest[]): Promise<readonly Committed[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ verb: 'batch', writes, resolve, reject });
      this.#schedule();
    });
  }

  /** Resolves when no write is waiting or in flight. */
  idle(): Promise<void> {
    if (this.#waiting.length === 0 && this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Sends at the end of this turn of the event loop, together with other writes called in it. */
  #schedule(): void {
    if (this.#scheduled || this.#underWay >= groupsUnderWayMax || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#send();
    });
  }

  async #send(): Promise<void> {
    const { writes, packed } = this.#takeGroup();
    this.#underWay++;
    this.#schedule();
    try {
      const { isFull, outcomes } = unpackOutcomes(await this.#commit(packed));
      this.#settle(writes, outcomes);
      if (isFull) this.#becameFull();
    } catch (error) {
      for (const write of writes) write.reject(error);
      if (isStoreError(error, 'full')) this.#becameFull();
      else this.#failed(error);
    }
    this.#underWay--;
    this.#schedule();
    if (this.#waiting.length > 0 || this.#underWay > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #takeGroup(): { readonly writes: readonly (WaitingWrite | WaitingBatch)[]; readonly packed: ArrayBuffer } {
    const packer = new Packer(this.#sizeOfGroup());
    let taken = 0;
    let count = 0;
    for (const write of this.#waiting) {
      if (count >= groupWritesMax || packer.length >= groupBytesMax) break;
      if (write.verb === 'batch') {
        packBatch(packer, write.writes);
        count += write.writes.length;
      } else {
        packWrite(packer, write);
        count++;
      }
      taken++;
    }
    return { writes: this.#waiting.splice(0, taken), packed: packer.finish() };
  }

  /** Approximate bytes of the next group, as allocated memory costs the same whether or not it is used. */
  #sizeOfGroup(): number {
    let bytes = 0;
    let count = 0;
    for (const write of this.#waiting) {
      if (++count > groupWritesMax || bytes >= groupBytesMax) break;
      if (write.verb === 'batch') for (const each of write.writes) bytes += packedSizeMax(each);
      else bytes += packedSizeMax(write);
    }
    return bytes;
  }

  #settle(writes: readonly (WaitingWrite | WaitingBatch)[], outcomes: readonly (WriteOutcome | BatchOutcome)[]): void {
    const changes: Change[] = [];
    for (const [index, write] of writes.entries()) {
      const outcome = outcomes[index];
      if (write.verb !== 'batch') {
        if (outcome?.status === 'committed') changes.push(changeOf(write, outcome));
      } else if (outcome?.status === 'batchCommitted') {
        for (const change of changesOf(write.writes, outcome)) changes.push(change);
      }
    }
    this.#published(changes);
    for (const [index, write] of writes.entries()) {
      const outcome = outcomes[index];
      if (write.verb === 'batch') settleBatch(write, outcome);
      else if (outcome?.status === 'committed') write.resolve({ revision: outcome.revision });
      else write.reject(refusalOf(write, outcome));
    }
  }
}

const settleBatch = (
  { writes, resolve, reject }: WaitingBatch,
  outcome: WriteOutcome | BatchOutcome | undefined,
): void => {
  if (outcome?.status === 'batchCommitted') {
    resolve(writes.map((_, index) => ({ revision: outcome.first + index })));
    return;
  }
  const refused = outcome?.status === 'batchRefused' ? outcome : undefined;
  reject(refusalOf(writes[refused?.index ?? 0], refused?.refusal));
};

const changesOf = (
  writes: readonly WriteRequest[],
  { first, previous }: BatchOutcome & { readonly status: 'batchCommitted' },
): readonly Change[] =>
  writes.map((write, index) =>
    changeOf(write, { revision: first + index, previous: previous[index] ?? new Uint8Array(0) }),
  );

const changeOf = (
  write: WriteRequest,
  outcome: { readonly revision: Revision; readonly previous: Uint8Array },
): Change => {
  const { key, value, expected } = write;
  const { revision } = outcome;
  const previous = { key, value: outcome.previous, revision: expected };
  switch (write.verb) {
    case 'create':
      return { type: 'create', key, revision, value };
    case 'update':
    case 'mark':
      return { type: 'update', key, revision, value, previous };
    case 'delete':
      return { type: 'delete', key, revision, previous };
  }
};

/** Without a refusal, the outcome of the write is unknown. */
const refusalOf = (write: WriteRequest | undefined, outcome: WriteOutcome | BatchOutcome | undefined): StoreError => {
  const { key = '', expected = 0 } = write ?? {};
  switch (outcome?.status) {
    case 'exists':
      return new StoreError('exists', `key ${key} exists`, { key, revision: outcome.revision });
    case 'conflict': {
      const message = `key ${key} is at revision ${outcome.revision}, not ${expected}`;
      return new StoreError('conflict', message, { key, revision: outcome.revision });
    }
    case 'notFound':
      return new StoreError('notFound', `key ${key} is absent`, { key });
    case 'full':
      return new StoreError('full', `no room is left for key ${key}`, { key });
    default:
      return new StoreError('unknownOutcome', `the outcome of the write of ${key} is not known`, { key });
  }
};
