import type { Clock } from '../../../base/clock.ts';
import type { Closable } from '../../../base/disposable.ts';
import { FairQueue } from '../../../base/fair-queue.ts';
import { limits } from '../../../base/limits.ts';
import { DeadlineQueue } from '../deadline-queue.ts';
import type { FlowMetrics } from './flow-metrics.ts';
import {
  type Lane,
  type Level,
  laneInTurn,
  type Place,
  passTurn,
  startWaiting,
  stopWaiting,
  type Waiter,
} from './lane.ts';
import { guaranteedPlaces, type LevelName, priorityLevels } from './priority-levels.ts';
import type { Tenant } from './tenant.ts';
import type { Flow } from './ticket.ts';
import { type RefusalReason, tooManyRequests } from './too-many-requests.ts';

interface PlacePoolOptions {
  readonly clock: Clock;
  /** Places in all; 0 where there is no limit. */
  readonly max: number;
  /** What a request may wait. Milliseconds. */
  readonly waitMsMax: number;
  readonly metrics: FlowMetrics;
}

/**
 * Places for requests of one kind, shared so that nobody gets all.
 *
 * Between levels: each has places that only it can take; the others are for whoever comes, and go to the level that has
 * least for its shares when several want them. Within a level: a tenant gets a place while it holds fewer than the level
 * could still give, so that a newcomer finds one; who gets none waits, and tenants are served in turn, and so are the
 * flows of each. Nobody waits while there is a place for them.
 */
export class PlacePool implements Closable {
  readonly #clock: Clock;
  readonly #metrics: FlowMetrics;
  readonly #levels: Readonly<Record<LevelName, Level>>;
  readonly #allLevels: readonly Level[];
  readonly #late: DeadlineQueue<Waiter>;
  readonly #exempt: Place = {
    leave: () => {
      this.#inFlight -= 1;
    },
  };
  /** Free places that are no level's own. */
  #common: number;
  #waiting = 0;
  /** Since when somebody has been made to wait and no place was left. Monotonic milliseconds. */
  #stalledSinceMs: number | undefined;
  /** Places that are taken, and the most that were since `takePeaks`. */
  #inFlight = 0;
  #inFlightPeak = 0;
  #waitingPeak = 0;

  constructor({ clock, max, waitMsMax, metrics }: PlacePoolOptions) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#allLevels = priorityLevels.map((definition) => ({
      definition,
      guaranteed: guaranteedPlaces(definition, max),
      inFlight: 0,
      waiting: 0,
      lanes: new Set(),
    }));
    this.#levels = Object.fromEntries(this.#allLevels.map((level) => [level.definition.name, level])) as Record<
      LevelName,
      Level
    >;
    this.#common =
      max === 0 ? Number.POSITIVE_INFINITY : this.#allLevels.reduce((free, { guaranteed }) => free - guaranteed, max);
    this.#late = new DeadlineQueue({
      clock,
      afterMs: waitMsMax,
      expire: (waiter) => waiter.refuse('time-out', tooManyRequests()),
    });
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** The most places taken, and the most requests waiting, since this was last asked. */
  takePeaks(): { readonly inFlight: number; readonly waiting: number } {
    const peaks = { inFlight: this.#inFlightPeak, waiting: this.#waitingPeak };
    this.#inFlightPeak = this.#inFlight;
    this.#waitingPeak = this.#waiting;
    return peaks;
  }

  /** For how long somebody has wanted a place and nobody has left one. Milliseconds. */
  get stalledMs(): number {
    return this.#stalledSinceMs === undefined ? 0 : this.#clock.monotonic() - this.#stalledSinceMs;
  }

  /** A place; undefined where one must be waited for. Those that are exempt get theirs outside of the limit. */
  enter({ schema, tenant }: Flow): Place | undefined {
    if (schema.level === 'exempt') {
      this.#count();
      return this.#exempt;
    }
    const lane = this.#laneOf(schema.level, tenant);
    return lane.waiting.size === 0 && lane.inFlight < this.#available(lane.level) ? this.#take(lane) : undefined;
  }

  /**
   * A place as soon as there is one, for who got none at once. Rejects with 429 where too many wait already or it takes too
   * long, and with the reason of the signal when that aborts.
   */
  wait(flow: Flow, signal: AbortSignal): Promise<Place> {
    const { schema, tenant } = flow;
    if (schema.level === 'exempt') throw new TypeError('who is exempt never waits');
    this.#stalledSinceMs ??= this.#clock.monotonic();
    const lane = this.#laneOf(schema.level, tenant);
    if (signal.aborted) return Promise.reject(signal.reason);
    if (lane.waiting.size < limits.waitingPerLevelMax - lane.level.waiting) return this.#wait(lane, flow, signal);
    this.#metrics.rejected(schema, 'queue-full');
    return Promise.reject(tooManyRequests());
  }

  close(): void {
    this.#late.close();
  }

  #laneOf(name: LevelName, tenant: Tenant): Lane {
    const level = this.#levels[name];
    const known = tenant.lanes.get(level);
    if (known) return known;
    const lane: Lane = { level, inFlight: 0, waiting: new FairQueue(), leave: () => this.#leave(lane) };
    tenant.lanes.set(level, lane);
    return lane;
  }

  /** Places that a level could take now. */
  #available({ guaranteed, inFlight }: Level): number {
    return this.#common + Math.max(0, guaranteed - inFlight);
  }

  #take(lane: Lane): Place {
    const { level } = lane;
    if (level.inFlight >= level.guaranteed) this.#common -= 1;
    level.inFlight += 1;
    lane.inFlight += 1;
    this.#count();
    return lane;
  }

  #count(): void {
    this.#inFlight += 1;
    if (this.#inFlight > this.#inFlightPeak) this.#inFlightPeak = this.#inFlight;
  }

  #leave(lane: Lane): void {
    const { level } = lane;
    if (level.inFlight > level.guaranteed) this.#common += 1;
    level.inFlight -= 1;
    lane.inFlight -= 1;
    this.#inFlight -= 1;
    this.#stalledSinceMs = undefined;
    if (this.#waiting === 0) return;
    this.#serveWaiting();
    if (this.#waiting > 0) this.#stalledSinceMs = this.#clock.monotonic();
  }

  #wait(lane: Lane, flow: Flow, signal: AbortSignal): Promise<Place> {
    return new Promise((resolve, reject) => {
      const cancel = (): void => waiter.refuse('cancelled', signal.reason);
      const end = (outcome: 'granted' | RefusalReason): void => {
        signal.removeEventListener('abort', cancel);
        this.#end(waiter, outcome);
      };
      const waiter: Waiter = {
        lane,
        flow,
        sinceMs: this.#clock.monotonic(),
        grant(place) {
          end('granted');
          resolve(place);
        },
        refuse(reason, error) {
          end(reason);
          reject(error);
        },
      };
      signal.addEventListener('abort', cancel, { once: true });
      startWaiting(waiter);
      this.#late.add(waiter);
      this.#waiting += 1;
      if (this.#waiting > this.#waitingPeak) this.#waitingPeak = this.#waiting;
    });
  }

  #end(waiter: Waiter, outcome: 'granted' | RefusalReason): void {
    stopWaiting(waiter);
    this.#late.remove(waiter);
    this.#waiting -= 1;
    const { flow, sinceMs } = waiter;
    this.#metrics.waited(flow.schema, outcome === 'granted', (this.#clock.monotonic() - sinceMs) / 1000);
    if (outcome !== 'granted') this.#metrics.rejected(flow.schema, outcome);
  }

  #serveWaiting(): void {
    for (let lane = this.#nextLane(); lane; lane = this.#nextLane()) passTurn(lane)?.grant(this.#take(lane));
  }

  /** Of the level that has least for its shares; undefined where nobody who waits may take a place. */
  #nextLane(): Lane | undefined {
    let next: Lane | undefined;
    for (const level of this.#allLevels) {
      if (level.waiting === 0 || (next && load(level) >= load(next.level))) continue;
      next = laneInTurn(level, this.#available(level)) ?? next;
    }
    return next;
  }
}

const load = ({ inFlight, definition }: Level): number => inFlight / definition.shares;
