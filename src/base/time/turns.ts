import { FairQueue } from '../collections/fair-queue.ts';
import { limits } from '../limits.ts';
import type { Clock } from './clock.ts';

type MonotonicClock = Pick<Clock, 'monotonic'>;

/** Work waiting for a turn, by owner: owners take turns, whatever their number of waiting items. */
const waiting = new FairQueue<unknown, () => void>();

/** By clock: when the first slice of this turn began. */
const begun = new Map<MonotonicClock, number>();

let armed = false;

/**
 * Runs `work` in a turn of the event loop without any other work queued here. Long work of many owners runs one piece
 * per turn, with I/O in between: pieces that all ran in one turn would add up to a long one. Owners take turns; work
 * without one is its own owner.
 */
export function inOwnTurn(work: () => void, owner: unknown = work): void {
  waiting.add(owner, work);
  arm();
}

/**
 * When sliced work first began in this turn, by `clock`; now, if there was none. All slices of a turn share its time,
 * including those whose owners were woken together.
 */
export function workBegan(clock: MonotonicClock): number {
  const there = begun.get(clock);
  if (there !== undefined) return there;
  const now = clock.monotonic();
  begun.set(clock, now);
  arm();
  return now;
}

function arm(): void {
  if (armed) return;
  armed = true;
  setImmediate(nextTurn);
}

function nextTurn(): void {
  armed = false;
  const isLong = isTurnLong();
  begun.clear();
  const work = waiting.first();
  if (!work) return;
  // I/O is handled before another slice.
  if (isLong) {
    arm();
    return;
  }
  const owner = waiting.passTurn();
  waiting.delete(owner, work);
  if (waiting.size > 0) arm();
  work();
}

/** Whether the work of this turn has already taken so long that another slice would be too much. */
function isTurnLong(): boolean {
  for (const [clock, began] of begun) if (clock.monotonic() - began >= limits.turnMs - limits.sliceMs) return true;
  return false;
}
