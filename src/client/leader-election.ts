import { type Clock, pause } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { formatMicroTime } from '../schema/time.ts';
import { type ApiClient, hasReason } from './api-client.ts';

interface LeaderElectionOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Path of the collection of leases. */
  readonly leases: string;
  readonly apiVersion: string;
  /** Name of the lease that candidates compete for. */
  readonly name: string;
  /** Whoever this is; no two candidates have the same. */
  readonly identity: string;
  readonly timing: ElectionTiming;
  /** Ends the candidature, and the leadership. */
  readonly signal: AbortSignal;
}

/** All in milliseconds. */
export interface ElectionTiming {
  /** How long others wait after they last saw the lease change before they take it. */
  readonly leaseMs: number;
  /** How long a leader leads after the last renewal that it knows of began. Shorter than `leaseMs`. */
  readonly renewMs: number;
  /** Between attempts to take or renew the lease. */
  readonly retryMs: number;
}

/** As published. */
export const defaultTiming: ElectionTiming = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2_000 };

interface Lease extends ApiObject {
  spec?: LeaseSpec;
}

interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

/**
 * Waits until this candidate leads, then runs `lead` with a signal that aborts when it does no more: because the lease
 * could not be renewed in time, because somebody else has it, or because `signal` aborts. Resolves when `lead` has
 * returned, having given the lease back where it was still held; the candidate must then be started anew.
 *
 * No two candidates lead at once as long as their clocks run equally fast: the time of others counts from when they saw
 * the lease change, which is after the leader began that change, from where its own, shorter time counts. Clocks need not
 * agree; the times in the lease are for people.
 */
export async function leadOnce(
  options: LeaderElectionOptions,
  lead: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const candidate = new Candidate(options);
  if (!(await candidate.acquire())) return;
  const term = new AbortController();
  const ended = candidate.hold(term);
  try {
    await lead(term.signal);
  } finally {
    term.abort(new Error('the leader has stopped leading'));
    await ended;
    await candidate.release();
  }
}

class Candidate {
  readonly #options: LeaderElectionOptions;
  readonly #path: string;
  /** The lease as it was last seen, and when. */
  #seen: { readonly lease: Lease; readonly at: number } | undefined;
  /** When the last change by which this candidate has the lease began. */
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#path = `${options.leases}/${encodeURIComponent(options.name)}`;
  }

  /** True once the lease is this candidate's; false when the candidature was ended. */
  async acquire(): Promise<boolean> {
    const { signal, timing, clock, logger, name, identity } = this.#options;
    while (!signal.aborted) {
      if ((await this.#attempt(signal)) && this.#leadsFor() > 0) {
        logger.info('leads', { lease: name, identity });
        return true;
      }
      await pause(clock, timing.retryMs, signal);
    }
    return false;
  }

  /** Renews until the term ends; ends it when time runs out. */
  async hold(term: AbortController): Promise<void> {
    const { signal, timing, clock } = this.#options;
    const over = AbortSignal.any([signal, term.signal]);
    const end = (reason: unknown): void => term.abort(reason);
    signal.addEventListener('abort', () => end(signal.reason), { once: true, signal: term.signal });
    while (!over.aborted) {
      // A timer ends the term on time although a request hangs.
      const timer = clock.after(this.#leadsFor(), () => end(new Error('the lease could not be renewed in time')));
      await pause(clock, timing.retryMs, over);
      if (!over.aborted) await this.#attempt(over);
      timer.close();
      if (this.#lost()) end(new Error('somebody else has the lease'));
      else if (this.#leadsFor() <= 0) end(new Error('the lease could not be renewed in time'));
    }
  }

  /** Milliseconds that the leadership lasts from now without another renewal. */
  #leadsFor(): number {
    return this.#renewedAt + this.#options.timing.renewMs - this.#options.clock.monotonic();
  }

  #lost(): boolean {
    return this.#seen !== undefined && this.#seen.lease.spec?.holderIdentity !== this.#options.identity;
  }

  /** Takes or renews the lease, if that may be done now. True where it was done. Never rejects. */
  async #attempt(ended: AbortSignal): Promise<boolean> {
    const { clock, logger, name, timing } = this.#options;
    const began = clock.monotonic();
    const patience = new AbortController();
    // A request that gets lost leaves time for another. One that arrives late all the same changes only what it has read.
    const timer = clock.after(timing.renewMs / 2, () => patience.abort(new Error('the server did not answer in time')));
    const signal = AbortSignal.any([ended, patience.signal]);
    try {
      const lease = await this.#read(signal);
      // A lease that somebody deleted was not given back: its holder, if we know of one, may still lead.
      const last = lease ?? this.#seen?.lease;
      if (last && !this.#isFree(last)) return false;
      const written = await this.#write(lease, signal);
      this.#seen = { lease: written, at: clock.monotonic() };
      this.#renewedAt = began;
      return true;
    } catch (error) {
      if (!ended.aborted && !hasReason(error, 'Conflict') && !hasReason(error, 'AlreadyExists')) {
        logger.warn('the lease could not be taken or renewed', { lease: name, error });
      }
      return false;
    } finally {
      timer.close();
    }
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    try {
      const lease = await this.#options.client.get<Lease>(this.#path, signal);
      const { resourceVersion } = lease.metadata;
      if (this.#seen?.lease.metadata.resourceVersion !== resourceVersion) {
        this.#seen = { lease, at: this.#options.clock.monotonic() };
      }
      return lease;
    } catch (error) {
      if (hasReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  #isFree({ spec }: Lease): boolean {
    const { identity, timing, clock } = this.#options;
    const holder = spec?.holderIdentity ?? '';
    if (holder === '' || holder === identity) return true;
    // The holder says for how long it leads; where its time is longer than ours, it counts.
    const leaseMs = Math.max(timing.leaseMs, (spec?.leaseDurationSeconds ?? 0) * 1_000);
    return this.#seen !== undefined && clock.monotonic() >= this.#seen.at + leaseMs;
  }

  /** Fails with a Conflict where somebody else was faster. */
  #write(lease: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const { client, leases, apiVersion, name, identity, timing, clock } = this.#options;
    const now = formatMicroTime(clock.now());
    const before = lease?.spec ?? {};
    const mine = before.holderIdentity === identity;
    const spec: LeaseSpec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(timing.leaseMs / 1_000),
      acquireTime: mine ? (before.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (before.leaseTransitions ?? 0) + (mine || !lease ? 0 : 1),
    };
    return lease
      ? client.update<Lease>(this.#path, { ...lease, spec }, signal)
      : client.create<Lease>(leases, { apiVersion, kind: 'Lease', metadata: { name }, spec }, signal);
  }

  /** Gives the lease back, so that the next need not wait; where that fails, it will have to. */
  async release(): Promise<void> {
    const { client, clock, logger, timing } = this.#options;
    const lease = this.#seen?.lease;
    if (!lease || this.#lost()) return;
    const spec: LeaseSpec = { ...lease.spec, holderIdentity: '', renewTime: formatMicroTime(clock.now()) };
    const patience = new AbortController();
    const timer = clock.after(timing.retryMs, () => patience.abort(new Error('releasing the lease took too long')));
    try {
      await client.update(this.#path, { ...lease, spec }, patience.signal);
    } catch (error) {
      logger.debug('the lease could not be given back', { error });
    } finally {
      timer.close();
    }
  }
}
