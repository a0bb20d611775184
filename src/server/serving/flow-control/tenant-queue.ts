import type { FairQueue } from '../../../base/collections/fair-queue.ts';
import type { RosterPlace } from '../../../base/collections/roster.ts';
import type { PriorityLevel, SeatBounds } from './priority-levels.ts';
import type { Tenant } from './tenant.ts';
import type { Flow } from './ticket.ts';
import type { RefusalReason } from './too-many-requests.ts';

/** The right to be executed. Call `release` once, when the answer is handed over. */
export interface Seat {
  release(): void;
}

/** The state of one priority level in a seat pool. */
export interface Level {
  definition: PriorityLevel;
  /** Seats by its share; those that no other level can take, and those that it can have at most. */
  bounds: SeatBounds;
  /** There is no such level any more: what was sorted into it before is served, and then it is forgotten. */
  isGone: boolean;
  inFlight: number;
  waiting: number;
  /** Queues with waiting requests, the next to be served first. */
  readonly queues: Set<TenantQueue>;
}

/**
 * The seats and waiting requests of one tenant at one level. It doubles as the handle for each of its seats, so that
 * granting one allocates nothing.
 */
export interface TenantQueue extends Seat {
  readonly level: Level;
  readonly tenant: Tenant;
  inFlight: number;
  /** Waiting requests by flow. */
  readonly waiting: FairQueue<string, Waiter>;
}

/** A request that waits for a seat. */
export interface Waiter {
  readonly queue: TenantQueue;
  readonly flow: Flow;
  /** When waiting began. Monotonic milliseconds. */
  readonly sinceMs: number;
  /** Among those that may wait too long. */
  latePlace: RosterPlace;
  readonly grant: (seat: Seat) => void;
  readonly refuse: (reason: RefusalReason, error: Error) => void;
}

/** The next queue to be served among those that hold fewer seats than `available`. */
export function queueInTurn({ queues }: Level, available: number): TenantQueue | undefined {
  for (const queue of queues) if (queue.inFlight < available) return queue;
  return undefined;
}

export function startWaiting(waiter: Waiter): void {
  const { queue, flow } = waiter;
  queue.waiting.add(flow.key, waiter);
  queue.level.waiting += 1;
  queue.level.queues.add(queue);
}

/** Removes a request that was served or gave up. */
export function stopWaiting(waiter: Waiter): void {
  const { queue, flow } = waiter;
  queue.waiting.delete(flow.key, waiter);
  queue.level.waiting -= 1;
  if (queue.waiting.size === 0) queue.level.queues.delete(queue);
}

/** Returns the first waiter of a queue without removing it, and moves the queue and the waiter's flow to the back. */
export function passTurn(queue: TenantQueue): Waiter | undefined {
  const { level, waiting } = queue;
  const first = waiting.first();
  waiting.passTurn();
  level.queues.delete(queue);
  level.queues.add(queue);
  return first;
}
