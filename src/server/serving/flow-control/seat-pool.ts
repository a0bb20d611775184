import { FairQueue } from '../../../base/collections/fair-queue.ts';
import type { Closable } from '../../../base/disposable.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { DeadlineQueue } from '../deadline-queue.ts';
import type { FlowMetrics } from './flow-metrics.ts';
import { exemptLevel, lastLevel, type PriorityLevel, type SeatBounds, seatBounds } from './priority-levels.ts';
import type { Tenant } from './tenant.ts';
import {
  type Level,
  passTurn,
  queueInTurn,
  type Seat,
  startWaiting,
  stopWaiting,
  type TenantQueue,
  type Waiter,
} from './tenant-queue.ts';
import type { Flow } from './ticket.ts';
import { type RefusalReason, tooManyRequests } from './too-many-requests.ts';

interface SeatPoolOptions {
  readonly clock: Clock;
  /** Total seats; 0 means no limit. */
  readonly max: number;
  /** Maximum wait of a request. Milliseconds. */
  readonly waitMsMax: number;
  readonly metrics: FlowMetrics;
  readonly levels: readonly PriorityLevel[];
}

/**
 * Seats for requests of one kind, shared fairly.
 *
 * Between levels: each level has guaranteed seats that no other level can take. The rest are common, and go to the
 * level with the lowest load relative to its shares if several levels compete. Within a level: a tenant gets a seat
 * while it holds fewer than the level could still give, so that a newcomer finds a free one. Other requests wait;
 * tenants are served round-robin, and so are the flows of each tenant. No request waits while there is a seat for it.
 */
export class SeatPool implements Closable {
  readonly #max: number;
  readonly #clock: Clock;
  readonly #metrics: FlowMetrics;
  /** By name. */
  #levels: ReadonlyMap<string, Level> = new Map();
  /** Those too that are gone and not yet empty. */
  readonly #allLevels = new Set<Level>();
  readonly #late: DeadlineQueue<Waiter>;
  readonly #exempt: Seat = {
    release: () => {
      this.#inFlight -= 1;
    },
  };
  /** Free seats that belong to no level. Negative when levels were given what others still hold. */
  #common = 0;
  #waiting = 0;
  /** Since when requests have waited without any seat being released. Monotonic milliseconds. */
  #stalledSinceMs: number | undefined;
  /** Seats in use, and the peak since the last `takePeaks`. */
  #inFlight = 0;
  #inFlightPeak = 0;
  #waitingPeak = 0;

  constructor({ clock, max, waitMsMax, metrics, levels }: SeatPoolOptions) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#max = max;
    this.#late = new DeadlineQueue({
      clock,
      afterMs: waitMsMax,
      expire: (waiter) => waiter.refuse('time-out', tooManyRequests()),
    });
    this.configure(levels);
  }

  /**
   * Shares the seats out anew. Nobody loses a seat, or their place in a queue: levels come to what is theirs as seats are
   * released.
   */
  configure(levels: readonly PriorityLevel[]): void {
    const before = new Map([...this.#allLevels].map((level) => [level.definition.name, level]));
    for (const level of this.#allLevels) level.isGone = true;
    this.#levels = new Map(
      levels.map((definition) => {
        const level = before.get(definition.name) ?? emptyLevel(definition);
        return [definition.name, Object.assign(level, { definition, isGone: false })];
      }),
    );
    for (const level of this.#levels.values()) this.#allLevels.add(level);
    this.#shareOut();
  }

  /** A level that is gone keeps its share until it is empty. */
  #shareOut(): void {
    for (const level of this.#allLevels) {
      if (level.isGone && level.inFlight + level.waiting === 0) this.#allLevels.delete(level);
    }
    const all = [...this.#allLevels];
    const bounds = seatBounds(
      all.map(({ definition }) => definition),
      this.#max === 0 ? Number.MAX_SAFE_INTEGER : this.#max,
    );
    this.#common = this.#max === 0 ? Number.POSITIVE_INFINITY : this.#max;
    for (const level of all) {
      level.bounds = bounds.get(level.definition.name) ?? noSeats;
      this.#common -= Math.max(level.bounds.lower, level.inFlight);
    }
    this.#serveWaiting();
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** The seats of each level. Infinite if there is no limit. */
  *limits(): Iterable<readonly [level: string, seats: SeatBounds]> {
    for (const [name, { bounds }] of this.#levels)
      if (name !== exemptLevel) yield [name, this.#max === 0 ? unlimited : bounds];
  }

  /** Those too that are gone and not yet empty. */
  levels(): Iterable<Level> {
    return this.#allLevels;
  }

  /** The peak numbers of seats in use and of waiting requests since the last call. */
  takePeaks(): { readonly inFlight: number; readonly waiting: number } {
    const peaks = { inFlight: this.#inFlightPeak, waiting: this.#waitingPeak };
    this.#inFlightPeak = this.#inFlight;
    this.#waitingPeak = this.#waiting;
    return peaks;
  }

  /** How long requests have waited without any seat being released. Milliseconds. */
  get stalledMs(): number {
    return this.#stalledSinceMs === undefined ? 0 : this.#clock.monotonic() - this.#stalledSinceMs;
  }

  /** Returns a seat, or undefined if the request must wait. Exempt requests are not limited. */
  tryAcquire({ schema, tenant }: Flow): Seat | undefined {
    if (schema.level === exemptLevel) {
      this.#count();
      return this.#exempt;
    }
    const queue = this.#queueOf(schema.level, tenant);
    return queue.waiting.size === 0 && queue.inFlight < this.#available(queue.level) ? this.#seat(queue) : undefined;
  }

  /**
   * Waits for a seat after `tryAcquire` returned none. Rejects with 429 if too many requests are waiting or the wait takes
   * too long, and with the signal's reason if it aborts.
   */
  wait(flow: Flow, signal: AbortSignal): Promise<Seat> {
    const { schema, tenant } = flow;
    if (schema.level === exemptLevel) throw new TypeError('exempt requests never wait');
    this.#stalledSinceMs ??= this.#clock.monotonic();
    const queue = this.#queueOf(schema.level, tenant);
    if (signal.aborted) return Promise.reject(signal.reason);
    const { waitingMax } = queue.level.definition;
    if (queue.waiting.size < waitingMax - queue.level.waiting) return this.#wait(queue, flow, signal);
    this.#metrics.rejected(schema, waitingMax === 0 ? 'concurrency-limit' : 'queue-full');
    return Promise.reject(tooManyRequests());
  }

  /** A seat, which is waited for if none is free. */
  take(flow: Flow, signal: AbortSignal): Seat | Promise<Seat> {
    return this.tryAcquire(flow) ?? this.wait(flow, signal);
  }

  close(): void {
    this.#late.close();
  }

  #queueOf(name: string, tenant: Tenant): TenantQueue {
    // It may have gone since the request was sorted.
    const level = this.#levels.get(name) ?? this.#levels.get(lastLevel);
    if (!level) throw new TypeError('there is no last priority level');
    const known = tenant.queues.get(level);
    if (known) return known;
    const queue: TenantQueue = {
      level,
      tenant,
      inFlight: 0,
      waiting: new FairQueue(),
      release: () => this.#release(queue),
    };
    tenant.queues.set(level, queue);
    return queue;
  }

  /** Seats that a level could take now. */
  #available({ bounds, inFlight }: Level): number {
    return Math.min(this.#common + Math.max(0, bounds.lower - inFlight), bounds.upper - inFlight);
  }

  #seat(queue: TenantQueue): Seat {
    const { level } = queue;
    if (level.inFlight >= level.bounds.lower) this.#common -= 1;
    level.inFlight += 1;
    queue.inFlight += 1;
    this.#count();
    return queue;
  }

  #count(): void {
    this.#inFlight += 1;
    if (this.#inFlight > this.#inFlightPeak) this.#inFlightPeak = this.#inFlight;
  }

  #release(queue: TenantQueue): void {
    const { level } = queue;
    if (level.inFlight > level.bounds.lower) this.#common += 1;
    level.inFlight -= 1;
    queue.inFlight -= 1;
    this.#inFlight -= 1;
    if (level.isGone) this.#leave(queue);
    this.#stalledSinceMs = undefined;
    if (this.#waiting === 0) return;
    this.#serveWaiting();
    if (this.#waiting > 0) this.#stalledSinceMs = this.#clock.monotonic();
  }

  /** Forgets what is empty of a level that is gone. */
  #leave({ level, tenant, inFlight, waiting }: TenantQueue): void {
    if (inFlight + waiting.size === 0) tenant.queues.delete(level);
    if (level.inFlight + level.waiting === 0) this.#shareOut();
  }

  #wait(queue: TenantQueue, flow: Flow, signal: AbortSignal): Promise<Seat> {
    return new Promise((resolve, reject) => {
      const cancel = (): void => waiter.refuse('cancelled', signal.reason);
      const end = (outcome: 'granted' | RefusalReason): void => {
        signal.removeEventListener('abort', cancel);
        this.#end(waiter, outcome);
      };
      const waiter: Waiter = {
        queue,
        flow,
        sinceMs: this.#clock.monotonic(),
        latePlace: 0,
        grant(seat) {
          end('granted');
          resolve(seat);
        },
        refuse(reason, error) {
          end(reason);
          reject(error);
        },
      };
      signal.addEventListener('abort', cancel, { once: true });
      startWaiting(waiter);
      waiter.latePlace = this.#late.add(waiter);
      this.#waiting += 1;
      this.#metrics.enqueued(flow.schema, queue.waiting.size);
      this.#metrics.usageOf(flow.schema).waiting += 1;
      if (this.#waiting > this.#waitingPeak) this.#waitingPeak = this.#waiting;
    });
  }

  #end(waiter: Waiter, outcome: 'granted' | RefusalReason): void {
    stopWaiting(waiter);
    this.#late.remove(waiter, waiter.latePlace);
    this.#waiting -= 1;
    const { flow, sinceMs } = waiter;
    this.#metrics.usageOf(flow.schema).waiting -= 1;
    this.#metrics.waited(flow.schema, outcome === 'granted', (this.#clock.monotonic() - sinceMs) / 1000);
    if (outcome === 'granted') return;
    this.#metrics.rejected(flow.schema, outcome);
    if (waiter.queue.level.isGone) this.#leave(waiter.queue);
  }

  #serveWaiting(): void {
    for (let queue = this.#nextQueue(); queue; queue = this.#nextQueue()) passTurn(queue)?.grant(this.#seat(queue));
  }

  /**
   * The next queue of the level with the lowest load relative to its shares; undefined if no waiting request may take a
   * seat.
   */
  #nextQueue(): TenantQueue | undefined {
    let next: TenantQueue | undefined;
    for (const level of this.#allLevels) {
      if (level.waiting === 0 || (next && load(level) >= load(next.level))) continue;
      next = queueInTurn(level, this.#available(level)) ?? next;
    }
    return next;
  }
}

const load = ({ inFlight, definition }: Level): number => inFlight / Math.max(definition.shares, leastShares);

/** Of a level without shares: it comes after the others. */
const leastShares = 0.01;

const emptyLevel = (definition: PriorityLevel): Level => ({
  ...{ definition, bounds: noSeats, isGone: false },
  ...{ inFlight: 0, waiting: 0, queues: new Set() },
});

const noSeats: SeatBounds = { nominal: 0, lower: 0, upper: 0 };

const unlimited: SeatBounds = {
  nominal: Number.POSITIVE_INFINITY,
  lower: 0,
  upper: Number.POSITIVE_INFINITY,
};
