import type { CellPath, CellSource } from '../codec/table.ts';
import { humanDuration } from '../meta/time.ts';
import type { Column } from './kind.ts';

/** Cell of a time that is not set. */
export const unknown = '<unknown>';
/** Cell of an empty set. */
export const none = '<none>';

/** The time elapsed since a timestamp, as kubectl shows it: `5d`, or `<unknown>` if not set. `now` is in milliseconds. */
export function age(time: string | null | undefined, now: number): string {
  const since = time ? Date.parse(time) : Number.NaN;
  return Number.isNaN(since) ? unknown : humanDuration(now - since);
}

/**
 * A text column with priority 0 by default. `value` is a JSON path, with `absent` shown if it has no value, or a function
 * if a path is not enough.
 */
export const column = (
  name: string,
  description: string,
  value: string | CellSource,
  { absent = '', ...options }: Partial<Pick<Column, 'type' | 'format' | 'priority'> & Pick<CellPath, 'absent'>> = {},
): Column => ({
  name,
  type: 'string',
  format: '',
  description,
  priority: 0,
  value: typeof value === 'string' ? { path: value, absent } : value,
  ...options,
});

/** The number of elements or fields at a path. */
export const countAt = (path: string): CellPath => ({ path, as: 'count', absent: 0 });

/** The time elapsed since the timestamp at a path. */
const ageAt = (path: string): CellPath => ({ path, as: 'age', absent: unknown });

export const nameColumn = column('Name', 'Name of the object.', '.metadata.name', { format: 'name' });

export const ageColumn = column('Age', 'Time since the object was created.', ageAt('.metadata.creationTimestamp'));

/** The creation time itself, for kinds whose age says little. */
export const createdAtColumn = column('Created At', 'When the object was created.', '.metadata.creationTimestamp', {
  type: 'date',
});

/** Shown only in wide output (`kubectl get -o wide`). */
export const wide = { priority: 1 } as const;
