import type { CellPath, CellSource } from '../codec/table.ts';
import { humanDuration } from '../schema/time.ts';
import type { Column } from './kind.ts';

/** What a cell shows of a time that is not set. */
export const unknown = '<unknown>';
/** What a cell shows of an empty set. */
export const none = '<none>';

/** The age of a time as clients know it: `5d`, or `<unknown>` where there is none. `now` is in milliseconds. */
export function age(time: string | null | undefined, now: number): string {
  const since = time ? Date.parse(time) : Number.NaN;
  return Number.isNaN(since) ? unknown : humanDuration(now - since);
}

/**
 * A column of text, shown always unless a priority says otherwise. Its cells are at a path, `absent` where there is nothing,
 * or come from a function where no path can say it.
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

/** The number of elements or members at a path. */
export const countAt = (path: string): CellPath => ({ path, as: 'count', absent: 0 });

/** The time that has passed since the one at a path. */
const ageAt = (path: string): CellPath => ({ path, as: 'age', absent: unknown });

export const nameColumn = column('Name', 'Name of the object.', '.metadata.name', { format: 'name' });

export const ageColumn = column('Age', 'Time since the object was created.', ageAt('.metadata.creationTimestamp'));

/** For kinds whose age says little: the time itself. */
export const createdAtColumn = column('Created At', 'When the object was created.', '.metadata.creationTimestamp', {
  type: 'date',
});

/** Only in wide output. */
export const wide = { priority: 1 } as const;
