import { limits } from '../../../base/limits.ts';
import type { LevelSpec } from '../../../kinds/flowcontrol/flow-schemas.ts';

/** A priority level as seats are shared out (KEP-1040). */
export interface PriorityLevel {
  readonly name: string;
  /** Its part of all seats, relative to the other levels. */
  readonly shares: number;
  /** The part of its own seats that others may borrow, from 0 to 1. */
  readonly lendable: number;
  /** How many seats it may borrow, as a multiple of its own. Infinity: any number. */
  readonly borrowable: number;
  /** Requests that may wait for a seat. 0: what gets none at once is refused. */
  readonly waitingMax: number;
}

/** The level whose requests need no seat. No other is exempt: validation sees to that. */
export const exemptLevel = 'exempt';

/** The level of what belongs to no other. It is always there. */
export const lastLevel = 'catch-all';

/**
 * Reads a PriorityLevelConfiguration with its defaults. How requests are dealt to queues means nothing here: every tenant
 * has a queue, and the level a number of requests that wait in them. Those of the last level wait, although it says that they
 * are refused: it is the level of all who may do nothing of their own, who would have to ask again and again.
 */
export function priorityLevel(name: string, { limited, exempt }: LevelSpec): PriorityLevel {
  const { nominalConcurrencyShares = limited ? 30 : 0, lendablePercent = 0 } = limited ?? exempt ?? {};
  const { borrowingLimitPercent, limitResponse } = limited ?? {};
  const { queues = 0, queueLengthLimit = 0 } = limitResponse?.queuing ?? {};
  const waitingMax =
    limitResponse?.type === 'Queue' ? Math.min(queues * queueLengthLimit, limits.waitingPerLevelMax) : 0;
  return {
    name,
    shares: nominalConcurrencyShares,
    lendable: lendablePercent / 100,
    borrowable: borrowingLimitPercent === undefined ? Number.POSITIVE_INFINITY : borrowingLimitPercent / 100,
    waitingMax: name === lastLevel ? limits.waitingPerLevelMax : waitingMax,
  };
}

/** Seats of one level: by its share, those that no other can take, and those that it can have at most. */
export interface SeatBounds {
  readonly nominal: number;
  readonly lower: number;
  readonly upper: number;
}

/** The seats of each level out of `max`, by its name. */
export function seatBounds(levels: readonly PriorityLevel[], max: number): ReadonlyMap<string, SeatBounds> {
  const inAll = levels.reduce((sum, { shares }) => sum + shares, 0);
  const exactly = ({ shares }: PriorityLevel): number => (inAll === 0 ? 0 : (max * shares) / inAll);
  const lowerOf = (level: PriorityLevel): number => Math.floor(exactly(level) * (1 - level.lendable));
  const common = levels.reduce((left, level) => left - lowerOf(level), max);
  return new Map(
    levels.map((level) => {
      const [nominal, lower] = [Math.ceil(exactly(level)), lowerOf(level)];
      // Nothing can be a multiple of no seats: one request at least goes on.
      const most = Number.isFinite(level.borrowable)
        ? Math.max(1, nominal + Math.ceil(nominal * level.borrowable))
        : max;
      const upper = Math.max(lower, Math.min(lower + common, most));
      return [level.name, { nominal, lower, upper }];
    }),
  );
}
