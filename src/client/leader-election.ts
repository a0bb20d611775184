import type { Logger } from '../base/logger.ts';
import { type Clock, pause } from '../base/time/clock.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { formatMicroTime } from '../meta/time.ts';
import { type ApiClient, hasReason } from './api-client.ts';
import type { EventRecorder } from './event-recorder.ts';
import { resourcePath } from './resource-path.ts';

interface LeaderElectionOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly apiVersion: string;
  /** Name of the lease that candidates compete for. */
  readonly name: string;
  /** Unique identity of this candidate. */
  readonly identity: string;
  readonly timing: ElectionTiming;
  /** Records when this candidate becomes the leader, and when it stops leading. */
  readonly events: EventRecorder;
  /** Told when the lease is acquired or renewed, and when the term ends. */
  readonly leads?: (isLeading: boolean) => void;
  /** Namespace of the lease. */
  readonly namespace: string;
  /** Ends the candidacy and the leadership. */
  readonly signal: AbortSignal;
}

/** All in milliseconds. */
export interface ElectionTiming {
  /** How long a candidate waits after it last saw the lease change before it takes the lease over. */
  readonly leaseMs: number;
  /** How long a leader may lead after the start of its last successful renewal. Shorter than `leaseMs`. */
  readonly renewMs: number;
  /** Pause between attempts to acquire or renew the lease. */
  readonly retryMs: number;
}

/** The defaults of client-go. */
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
 * Waits until this candidate leads, then runs `lead` with a signal that aborts when leadership ends: the lease was not renewed
 * in time, another candidate holds it, or `signal` aborts. Resolves when `lead` has returned and the lease, if still held, has
 * been released. To run again the candidate must be started anew.
 *
 * `lead` calls `requireLease` before each request that only a leader may send. It throws, and ends the term, if the lease has
 * run out: after a pause of the whole process, answers may be handled before the timer that ends the term.
 *
 * Two candidates never lead at once as long as their clocks run at the same rate. The others count `leaseMs` from when they saw
 * the lease change; the leader counts the shorter `renewMs` from when it began that change, which is earlier. Clocks need not
 * be synchronised: the times in the lease are informational. A clock that is set forward ends a term early.
 */
export async function leadOnce(
  options: LeaderElectionOptions,
  lead: (signal: AbortSignal, requireLease: () => void) => Promise<void>,
): Promise<void> {
  const candidate = new Candidate(options);
  if (!(await candidate.acquire())) return;
  const term = new AbortController();
  const ended = candidate.hold(term);
  candidate.record('became leader');
  try {
    await lead(term.signal, () => candidate.require(term));
  } finally {
    term.abort(new Error('the leader has stopped leading'));
    await ended;
    options.leads?.(false);
    candidate.record('stopped leading');
    await candidate.release();
  }
}

interface Moment {
  readonly monotonicMs: number;
  /** Since the Unix epoch. */
  readonly wallMs: number;
}

class Candidate {
  readonly #options: LeaderElectionOptions;
  readonly #leases: string;
  readonly #path: string;
  /** The last observed lease and the time of that observation. */
  #seen: { readonly lease: Lease; readonly at: number } | undefined;
  /** Start of this candidate's last successful acquisition or renewal. */
  #renewedAt: Moment = { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY };

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    const { apiVersion, namespace, name } = options;
    this.#leases = resourcePath({ apiVersion, resource: 'leases', namespace });
    this.#path = resourcePath({ apiVersion, resource: 'leases', namespace, name });
  }

  /** As client-go: the lease is named without its UID. */
  record(what: string): void {
    const { events, apiVersion, namespace, name, identity } = this.#options;
    const about = { apiVersion, kind: 'Lease', namespace, name };
    events.record({ about, type: 'Normal', reason: 'LeaderElection', message: `${identity} ${what}` });
  }

  /** Throws if the term is over, whether or not its timer has fired. */
  require(term: AbortController): void {
    if (this.#leadsFor() <= 0) term.abort(new Error('the lease could not be renewed in time'));
    term.signal.throwIfAborted();
  }

  /** True once this candidate holds the lease; false if the candidacy was ended. */
  async acquire(): Promise<boolean> {
    const { signal, timing, clock, logger, name, identity } = this.#options;
    for (let waits = false; !signal.aborted; ) {
      if ((await this.#attempt(signal)) && this.#leadsFor() > 0) {
        logger.info('leads', { lease: name, identity });
        return true;
      }
      const holder = this.#seen?.lease.spec?.holderIdentity;
      if (!waits && holder) {
        logger.info('waits for the lease', { lease: name, identity, holder });
        waits = true;
      }
      await pause(clock, timing.retryMs, signal);
    }
    return false;
  }

  /** Renews the lease until the term ends; ends the term when renewal is overdue. */
  async hold(term: AbortController): Promise<void> {
    const { signal, timing, clock } = this.#options;
    const over = AbortSignal.any([signal, term.signal]);
    const end = (reason: unknown): void => term.abort(reason);
    signal.addEventListener('abort', () => end(signal.reason), { once: true, signal: term.signal });
    while (!over.aborted) {
      // Ends the term on time even if a request hangs.
      const timer = clock.after(this.#leadsFor(), () => end(new Error('the lease could not be renewed in time')));
      await pause(clock, timing.retryMs, over);
      if (!over.aborted) await this.#attempt(over);
      timer.close();
      if (this.#lost()) end(new Error('somebody else has the lease'));
      else if (this.#leadsFor() <= 0) end(new Error('the lease could not be renewed in time'));
    }
  }

  /**
   * Milliseconds of leadership left without another renewal, by the clock that has advanced further: the monotonic one stands
   * still while the machine sleeps, and the other may be set back.
   */
  #leadsFor(): number {
    const { monotonicMs, wallMs } = this.#now();
    const passedMs = Math.max(monotonicMs - this.#renewedAt.monotonicMs, wallMs - this.#renewedAt.wallMs);
    return this.#options.timing.renewMs - passedMs;
  }

  #now(): Moment {
    const { clock } = this.#options;
    return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
  }

  #lost(): boolean {
    return this.#seen !== undefined && this.#seen.lease.spec?.holderIdentity !== this.#options.identity;
  }

  /** Acquires or renews the lease if allowed now. Returns whether it succeeded. Never rejects. */
  async #attempt(ended: AbortSignal): Promise<boolean> {
    const { clock, logger, name, timing } = this.#options;
    const began = this.#now();
    const patience = new AbortController();
    // A lost request leaves time for another attempt. If it arrives late, it only overwrites the version it was based on.
    const timer = clock.after(timing.renewMs / 2, () => patience.abort(new Error('the server did not answer in time')));
    const signal = AbortSignal.any([ended, patience.signal]);
    try {
      const lease = await this.#read(signal);
      // A deleted lease was not released: its last known holder may still lead.
      const last = lease ?? this.#seen?.lease;
      if (last && !this.#isFree(last)) return false;
      const written = await this.#write(lease, signal);
      this.#seen = { lease: written, at: clock.monotonic() };
      this.#renewedAt = began;
      this.#options.leads?.(true);
      return true;
    } catch (error) {
      if (!ended.aborted && !hasReason(error, 'Conflict', 'AlreadyExists')) {
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
    // The holder's lease duration counts if it is longer than ours.
    const leaseMs = Math.max(timing.leaseMs, (spec?.leaseDurationSeconds ?? 0) * 1_000);
    return this.#seen !== undefined && clock.monotonic() >= this.#seen.at + leaseMs;
  }

  /** Rejects with Conflict if another candidate was faster. */
  #write(lease: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const { client, apiVersion, name, identity, timing, clock } = this.#options;
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
      : client.create<Lease>(this.#leases, { apiVersion, kind: 'Lease', metadata: { name }, spec }, signal);
  }

  /** Releases the lease, so that the next leader need not wait for it to expire. Best effort, for as long as client-go tries. */
  async release(): Promise<void> {
    const { clock, logger, timing } = this.#options;
    const patience = new AbortController();
    const patienceMs = Math.min(timing.renewMs, defaultTiming.renewMs);
    const timer = clock.after(patienceMs, () => patience.abort(new Error('releasing the lease took too long')));
    try {
      await this.#free(patience.signal);
    } catch (error) {
      logger.debug('the lease could not be given back', { error });
    } finally {
      timer.close();
    }
  }

  /** Frees the lease if this candidate holds it. The last renewal may have succeeded although it was aborted. */
  async #free(signal: AbortSignal): Promise<void> {
    let lease = this.#seen?.lease;
    while (lease?.spec?.holderIdentity === this.#options.identity) {
      try {
        return await this.#writeFreed(lease, signal);
      } catch (error) {
        if (!hasReason(error, 'Conflict')) throw error;
        lease = await this.#read(signal);
      }
    }
  }

  async #writeFreed(lease: Lease, signal: AbortSignal): Promise<void> {
    const now = formatMicroTime(this.#options.clock.now());
    // As client-go: candidates that go by the duration alone wait no longer than a second.
    const freed = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
    await this.#options.client.update(this.#path, { ...lease, spec: { ...lease.spec, ...freed } }, signal);
  }
}
