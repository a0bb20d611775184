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
  waiting: number;
  /** Who waits, by flow, in order of arrival; the flow whose turn it is comes first. Undefined while nobody waits. */
  flows: Map<string, Set<Waiter>> | undefined;
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

/** Behind the others of its flow. */
export function line(waiter: Waiter): void {
  const { lane, flow } = waiter;
  lane.flows ??= new Map();
  const inFlow = lane.flows.get(flow.key);
  if (inFlow) inFlow.add(waiter);
  else lane.flows.set(flow.key, new Set([waiter]));
  lane.waiting += 1;
  lane.level.waiting += 1;
  lane.level.lanes.add(lane);
}

/** Whether it was served or gave up. */
export function unline(waiter: Waiter): void {
  const { lane, flow } = waiter;
  const inFlow = lane.flows?.get(flow.key);
  if (inFlow?.delete(waiter) && inFlow.size === 0) lane.flows?.delete(flow.key);
  lane.waiting -= 1;
  lane.level.waiting -= 1;
  if (lane.waiting > 0) return;
  lane.flows = undefined;
  lane.level.lanes.delete(lane);
}

/** The lane whose turn it is among those that hold fewer places than `available`. */
export function laneInTurn({ lanes }: Level, available: number): Lane | undefined {
  for (const lane of lanes) if (lane.inFlight < available) return lane;
  return undefined;
}

/** Who comes first in a lane. It stays in line; its lane and its flow go behind the others. */
export function passTurn(lane: Lane): Waiter | undefined {
  const { level, flows } = lane;
  level.lanes.delete(lane);
  level.lanes.add(lane);
  const [first] = flows ?? [];
  if (!first) return undefined;
  const [flow, waiters] = first;
  flows?.delete(flow);
  flows?.set(flow, waiters);
  return waiters.values().next().value;
}
