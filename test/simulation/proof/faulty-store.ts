import type { Closable } from '../../../src/base/disposable.ts';
import { type Clock, pause } from '../../../src/base/time/clock.ts';
import { DecoratedStore } from '../../../src/store/decorated-store.ts';
import {
  type BatchWrite,
  type ChangeBatch,
  type Committed,
  type ListOptions,
  type Page,
  type Revision,
  type Store,
  StoreError,
  type StoreRecord,
} from '../../../src/store/store.ts';
import type { Dice } from '../dice.ts';

/** Defects that checkers have to find. None of them is in the product. */
export type StoreDefect = 'lostWrite' | 'staleRead' | 'skippedEvent' | 'reorderedEvent' | 'tornBatch';

/** How often something happens to a call. */
export interface FaultRates {
  /** Refused, and not done. */
  readonly refused: number;
  /** Done, and the answer lost. */
  readonly lostAnswer: number;
  /** Told to be of unknown outcome, and done later. */
  readonly late: number;
  /** The change stream breaks between two batches. */
  readonly brokenStream: number;
}

const calm: FaultRates = { refused: 0, lostAnswer: 0, late: 0, brokenStream: 0 };
export const stormy: FaultRates = { refused: 0.03, lostAnswer: 0.04, late: 0.03, brokenStream: 0.05 };

interface FaultyStoreOptions {
  readonly clock: Clock;
  readonly dice: Dice;
  /** Longest time that a call, and a batch of changes, takes on its way. */
  readonly delayMsMax: number;
}

/** What goes wrong, and against the contract. */
interface Faults {
  readonly rates: FaultRates;
  readonly defect?: StoreDefect | undefined;
}

/** How often a defect shows, of the calls that it is about: as seldom as it may be found with. */
const defectRates: Readonly<Record<StoreDefect, number>> = {
  lostWrite: 0.05,
  staleRead: 0.3,
  skippedEvent: 0.05,
  reorderedEvent: 0.5,
  tornBatch: 0.2,
};

/**
 * The store of one server, which is elsewhere: calls take time, are refused and lose their answers, as a store may do by its
 * contract (src/store/store.ts); changes come late, and their stream breaks. With a defect, against the contract.
 */
export class FaultyStore extends DecoratedStore implements Closable {
  readonly #options: FaultyStoreOptions;
  /** The server is gone: nothing that it asked for comes back, and nothing new is done. */
  readonly #gone = new AbortController();
  #staleHead: Revision | undefined;
  #faults: Faults = { rates: calm };

  constructor(store: Store, options: FaultyStoreOptions) {
    super(store);
    this.#options = options;
  }

  /** From now on not all goes well. */
  begin(faults: Faults): void {
    this.#faults = faults;
  }

  /** What the server asked for and was not done yet is done or not. */
  crash(): void {
    this.#gone.abort();
  }

  /** Others write too. */
  override get knownHead(): undefined {
    return undefined;
  }

  override async head(): Promise<Revision> {
    await this.#way();
    const head = await this.store.head();
    await this.#way();
    if (this.#has('staleRead')) return this.#staleHead ?? head;
    this.#staleHead = head;
    return head;
  }

  override get(key: string, at?: Revision): Promise<StoreRecord | undefined> {
    return this.#read(() => this.store.get(key, at));
  }

  override list(prefix: string, options?: ListOptions): Promise<Page> {
    return this.#read(() => this.store.list(prefix, options));
  }

  override create(key: string, value: Uint8Array): Promise<Committed> {
    return this.#write(() => this.store.create(key, value));
  }

  override update(key: string, value: Uint8Array, expected: Revision): Promise<Committed> {
    return this.#write(() => this.store.update(key, value, expected));
  }

  override delete(key: string, expected: Revision): Promise<Committed> {
    return this.#write(() => this.store.delete(key, expected));
  }

  override batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]> {
    return this.#write(async () => {
      if (writes.length < 2 || !this.#has('tornBatch')) return this.store.batch(writes);
      const [first] = await this.store.batch(writes.slice(0, 1));
      return writes.map(() => first as Committed);
    });
  }

  override async *changes(from: Revision, signal: AbortSignal): AsyncGenerator<ChangeBatch, void> {
    const either = AbortSignal.any([signal, this.#gone.signal]);
    for await (const batch of this.store.changes(from, either)) {
      await this.#way();
      if (either.aborted) return;
      if (this.#options.dice.chance(this.#faults.rates.brokenStream)) {
        throw new StoreError('unavailable', 'the change stream broke');
      }
      yield* this.#spoiled(batch);
    }
  }

  /** Closed by its server; others go on. */
  override async close(): Promise<void> {
    this.crash();
  }

  *#spoiled({ changes, revision }: ChangeBatch): Iterable<ChangeBatch> {
    const { dice } = this.#options;
    const at = dice.below(changes.length);
    if (changes.length > 0 && this.#has('skippedEvent')) yield { changes: changes.toSpliced(at, 1), revision };
    else if (changes.length > 1 && this.#has('reorderedEvent')) yield { changes: changes.toReversed(), revision };
    else yield { changes, revision };
  }

  #has(defect: StoreDefect): boolean {
    return this.#faults.defect === defect && this.#options.dice.chance(defectRates[defect]);
  }

  async #read<T>(read: () => Promise<T>): Promise<T> {
    await this.#way();
    if (this.#options.dice.chance(this.#faults.rates.refused)) throw new StoreError('unavailable', 'no answer');
    const result = await read();
    await this.#way();
    return result;
  }

  async #write<T extends Committed | readonly Committed[]>(write: () => Promise<T>): Promise<T> {
    const { dice } = this.#options;
    const { rates } = this.#faults;
    await this.#way();
    if (dice.chance(rates.refused)) throw new StoreError('unavailable', 'the write was not sent');
    if (dice.chance(rates.late)) {
      void this.#way().then(write).catch(ignore);
      throw new StoreError('unknownOutcome', 'the write may be on its way');
    }
    if (this.#has('lostWrite')) {
      const revision = await this.store.head();
      return { revision: revision + 1 } as T;
    }
    const result = await write();
    await this.#way();
    if (dice.chance(rates.lostAnswer)) throw new StoreError('unknownOutcome', 'the answer was lost');
    return result;
  }

  /** The time on the way. Of a server that is gone nothing arrives. */
  async #way(): Promise<void> {
    const { clock, dice, delayMsMax } = this.#options;
    await pause(clock, dice.below(delayMsMax + 1), this.#gone.signal);
    if (this.#gone.signal.aborted) throw new StoreError('unavailable', 'the server is gone');
  }
}

const ignore = (): void => {};
