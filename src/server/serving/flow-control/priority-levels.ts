/**
 * A priority level with the defaults of API Priority and Fairness: its share of the seats, and the part of it that
 * other levels may borrow. `exempt` requests need no seat.
 */
export interface PriorityLevel {
  readonly name: LevelName;
  readonly shares: number;
  /** The part of the level's seats that others may borrow, from 0 to 1. */
  readonly lendable: number;
}

export type LevelName =
  | 'system'
  | 'node-high'
  | 'leader-election'
  | 'workload-high'
  | 'workload-low'
  | 'global-default'
  | 'catch-all';

export const priorityLevels: readonly PriorityLevel[] = [
  { name: 'system', shares: 30, lendable: 0.33 },
  { name: 'node-high', shares: 40, lendable: 0.25 },
  { name: 'leader-election', shares: 10, lendable: 0 },
  { name: 'workload-high', shares: 40, lendable: 0.5 },
  { name: 'workload-low', shares: 100, lendable: 0.9 },
  { name: 'global-default', shares: 20, lendable: 0.5 },
  { name: 'catch-all', shares: 5, lendable: 0 },
];

const sharesInAll = priorityLevels.reduce((sum, { shares }) => sum + shares, 0);

/** The seats out of `max` by the share of a level. */
export const nominalSeats = ({ shares }: PriorityLevel, max: number): number => Math.ceil((max * shares) / sharesInAll);

/** The seats out of `max` that no other level can take. */
export const guaranteedSeats = ({ shares, lendable }: PriorityLevel, max: number): number =>
  Math.floor((max * shares * (1 - lendable)) / sharesInAll);
