import type { FairQueue } from '../../../base/fair-queue.ts';
import type { PriorityLevel } from './priority-levels.ts';
import type { Flow } from './ticket.ts';
import type { RefusalReason } from './too-many-requests.ts';

/** The right to be worked on. To be left once, when the answer is handed over. */
export interface Place {
  leave(): void;
}

/** What a pool of places knows of one priority level. */
export interface Level {
  readonly definition: PriorityLevel;
  /** Places that no other level can take. */
  readonly guaranteed: number;
  inFlight: number;
  waiting: number;
  /** Lanes with somebody waiting; the one whose turn it is comes first. */
  readonly lanes: Set<Lane>;
}

/** What one tenant has and wants at one level. Stands for each of its places, so that giving one allocates nothing. */
export interface Lane extends Place {
  readonly level: Level;
  inFlight: number;
  /** By flow. */
  readonly waiting: FairQueue<string, Waiter>;
}

/** A request that waits for a place. */
export interface Waiter {
  readonly lane: Lane;
  readonly flow: Flow;
  /** Monotonic milliseconds. */
  readonly sinceMs: number;
  readonly grant: (place: Place) => void;
  readonly refuse: (reason: RefusalReason, error: Error) => void;
}

/** The lane whose turn it is among those that hold fewer places than `available`. */
export function laneInTurn({ lanes }: Level, available: number): Lane | undefined {
  for (const lane of lanes) if (lane.inFlight < available) return lane;
  return undefined;
}

export function startWaiting(waiter: Waiter): void {
  const { lane, flow } = waiter;
  lane.waiting.add(flow.key, waiter);
  lane.level.waiting += 1;
  lane.level.lanes.add(lane);
}

/** Whether it was served or gave up. */
export function stopWaiting(waiter: Waiter): void {
  const { lane, flow } = waiter;
  lane.waiting.delete(flow.key, waiter);
  lane.level.waiting -= 1;
  if (lane.waiting.size === 0) lane.level.lanes.delete(lane);
}

/** Who comes first in a lane. It still waits; its lane and its flow go behind the others. */
export function passTurn(lane: Lane): Waiter | undefined {
  const { level, waiting } = lane;
  const first = waiting.first();
  waiting.passTurn();
  level.lanes.delete(lane);
  level.lanes.add(lane);
  return first;
}
