import type { Clock } from './clock.ts';
import { FairQueue } from './fair-queue.ts';
import { limits } from './limits.ts';

type MonotonicClock = Pick<Clock, 'monotonic'>;

/** Work that waits for a turn, by owner: owners take turns, whatever they have waiting. */
const waiting = new FairQueue<unknown, () => void>();

/** By clock: when the first slice of this turn began. */
const begun = new Map<MonotonicClock, number>();

let armed = false;

/**
 * Calls back in a turn of the event loop that nobody else has who asks here. Long work of many goes on one after the other,
 * with connections looked at in between: slices that all ran in one turn would add up to a long one. Owners take turns; work
 * without one is an owner of its own.
 */
export function inOwnTurn(work: () => void, owner: unknown = work): void {
  waiting.add(owner, work);
  arm();
}

/**
 * When sliced work first began in this turn, by `clock`: now, if it had not. All slices of a turn share what the turn may
 * take, also those whose owners were woken together.
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
  // Connections are looked at before a further slice.
  if (isLong) {
    arm();
    return;
  }
  const owner = waiting.passTurn();
  waiting.delete(owner, work);
  if (waiting.size > 0) arm();
  work();
}

/** Whether those who were woken in this turn have done so much in it that another slice would be too much. */
function isTurnLong(): boolean {
  for (const [clock, began] of begun) if (clock.monotonic() - began >= limits.turnMs - limits.sliceMs) return true;
  return false;
}
