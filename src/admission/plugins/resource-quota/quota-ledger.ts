import { limits } from '../../../base/limits.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { TimeSlice } from '../../../base/time/time-slice.ts';
import { untilAborted } from '../../../base/time/until-aborted.ts';
import { type Amounts, sumOf } from '../../../kinds/quota/amounts.ts';
import type { Evaluators } from '../../../kinds/quota/evaluators.ts';
import type { Quota } from '../../../kinds/quota/quota.ts';
import { internalFailure, StatusError } from '../../../meta/status-error.ts';
import { checkQuotas, type LimitedResource, type QuotaRefusal, type QuotaRequest } from './check-quotas.ts';

/** The quotas of a server. */
export interface StoredQuotas {
  /** Those of a namespace, as far as this server knows. */
  of(namespace: string): readonly Quota[];
  /** Resolves when all writes are known that were acknowledged before the call. */
  upToDate(): Promise<void>;
  /**
   * Writes `used` of a quota on the condition that it is as it was read. Rejects with a StatusError, a Conflict if it is not. The
   * new state is among those of the namespace when it resolves.
   */
  writeUsed(quota: Quota): Promise<void>;
}

interface QuotaLedgerOptions {
  readonly clock: Clock;
  readonly evaluators: Evaluators;
  readonly quotas: StoredQuotas;
  readonly limited: readonly LimitedResource[];
}

/** A write that waits to be charged. */
interface Waiting {
  readonly request: QuotaRequest;
  /** The same object in all attempts of the write. */
  readonly write: object;
  readonly signal: AbortSignal;
  readonly settle: (outcome: QuotaRefusal | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Charges writes to the quotas that count them, before they are done: a quota's status is written on the condition that
 * nobody else wrote it, so that servers that share a store never grant more than there is. What waits in a namespace is
 * charged by one write for each quota. A write that fails afterwards stays charged until the quota's controller counts
 * anew; one that is tried again is charged once.
 */
export class QuotaLedger {
  readonly #options: QuotaLedgerOptions;
  /** What waits, by namespace. A namespace in here is being worked on. */
  readonly #waiting = new Map<string, Waiting[]>();
  /** What was charged for a write, by UID of the quota. */
  readonly #charged = new WeakMap<object, Map<string, Amounts>>();

  constructor(options: QuotaLedgerOptions) {
    this.#options = options;
  }

  /** Whether a write in this namespace could be charged or refused; the quotas of this server must be up to date. */
  concerns(namespace: string): boolean {
    const { limited, quotas } = this.#options;
    return limited.length > 0 || quotas.of(namespace).length > 0;
  }

  /** Why the write is refused; undefined if it may be done. */
  async charge(request: QuotaRequest, write: object, signal: AbortSignal): Promise<QuotaRefusal | undefined> {
    const { clock } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<QuotaRefusal | undefined>();
    const late = clock.after(limits.quotaChargeMsMax, () =>
      reject(internalFailure('resource quota evaluation timed out')),
    );
    this.#add({ request, write, signal, settle: resolve, fail: reject });
    try {
      return await untilAborted(promise, signal);
    } finally {
      late.close();
    }
  }

  #add(waiting: Waiting): void {
    const { namespace } = waiting.request;
    const others = this.#waiting.get(namespace);
    if (others) {
      others.push(waiting);
      return;
    }
    this.#waiting.set(namespace, [waiting]);
    void this.#work(namespace);
  }

  /** Charges what waits in a namespace, and what comes meanwhile, until nothing does. */
  async #work(namespace: string): Promise<void> {
    for (;;) {
      const batch = this.#waiting.get(namespace)?.splice(0, limits.quotaBatchMax) ?? [];
      if (batch.length === 0) break;
      try {
        await this.#chargeBatch(namespace, batch);
      } catch (error) {
        for (const { fail } of batch) fail(error);
      }
    }
    this.#waiting.delete(namespace);
  }

  /** Checks and charges again what was not charged because somebody else wrote a quota meanwhile. */
  async #chargeBatch(namespace: string, batch: readonly Waiting[]): Promise<void> {
    const { quotas } = this.#options;
    let due: readonly Waiting[] = batch;
    for (let attempt = 1; due.length > 0; attempt++) {
      const round = await this.#check(quotas.of(namespace), due);
      const failures = await this.#write(round);
      const overtaken: Waiting[] = [];
      for (const [waiting, charges] of round.charges) {
        const failure = [...charges.keys()].flatMap((name) => failures.get(name) ?? [])[0];
        if (failure === undefined) waiting.settle(undefined);
        else if (isOvertaken(failure) && attempt < limits.quotaWriteAttemptsMax) overtaken.push(waiting);
        else waiting.fail(failure);
      }
      if (overtaken.length > 0) await quotas.upToDate();
      due = overtaken;
    }
  }

  /** Settles what is refused or costs nothing. */
  async #check(stored: readonly Quota[], batch: readonly Waiting[]): Promise<Round> {
    const { clock, evaluators, limited } = this.#options;
    const slice = new TimeSlice(clock);
    const quotas = new Map(stored.map((quota) => [quota.name, quota]));
    const changed = new Set<string>();
    const charges = new Map<Waiting, ReadonlyMap<string, Amounts>>();
    for (const waiting of batch) {
      if (slice.over) await slice.next();
      const { request, write, signal, settle } = waiting;
      const evaluator = evaluators.of(request.resource);
      if (signal.aborted || !evaluator) {
        settle(undefined);
        continue;
      }
      const charged = (quota: Quota): Amounts => this.#charged.get(write)?.get(uidOf(quota)) ?? none;
      const checked = checkQuotas([...quotas.values()], request, { evaluator, limited, charged });
      if ('why' in checked || checked.size === 0 || request.dryRun) {
        settle('why' in checked ? checked : undefined);
        continue;
      }
      for (const [quota, amounts] of checked) {
        quotas.set(quota.name, { ...quota, used: sumOf(quota.used, amounts) });
        changed.add(quota.name);
      }
      charges.set(waiting, new Map([...checked].map(([{ name }, amounts]) => [name, amounts])));
    }
    return { quotas: [...changed].flatMap((name) => quotas.get(name) ?? []), charges };
  }

  /** Writes the quotas that change. Returns what failed, by name of the quota. */
  async #write({ quotas, charges }: Round): Promise<ReadonlyMap<string, unknown>> {
    const failures = new Map<string, unknown>();
    const write = async (quota: Quota): Promise<void> => {
      try {
        await this.#options.quotas.writeUsed(quota);
        for (const [{ write: of }, amounts] of charges) this.#remember(of, uidOf(quota), amounts.get(quota.name));
      } catch (error) {
        failures.set(quota.name, error);
      }
    };
    await Promise.all(quotas.map(write));
    return failures;
  }

  #remember(write: object, uid: string, amounts: Amounts | undefined): void {
    if (!amounts) return;
    const charged = this.#charged.get(write) ?? new Map<string, Amounts>();
    this.#charged.set(write, charged.set(uid, sumOf(charged.get(uid) ?? none, amounts)));
  }
}

/** One look at writes that wait. */
interface Round {
  /** The quotas that change, with what is used then. */
  readonly quotas: readonly Quota[];
  /** What each write is charged, by name of the quota. */
  readonly charges: ReadonlyMap<Waiting, ReadonlyMap<string, Amounts>>;
}

const none: Amounts = new Map();

const uidOf = ({ object }: Quota): string => object.metadata.uid ?? '';

/** Somebody else wrote the quota, or deleted it. */
const isOvertaken = (error: unknown): boolean =>
  error instanceof StatusError && (error.reason === 'Conflict' || error.reason === 'NotFound');
