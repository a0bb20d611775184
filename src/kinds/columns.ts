import type { ApiObject } from '../meta/api-object.ts';
import { humanDuration } from '../schema/time.ts';
import type { Cell, Column } from './kind.ts';

/** What a cell shows of a time that is not set. */
export const unknown = '<unknown>';
/** What a cell shows of an empty set. */
export const none = '<none>';

/** The age of a time as clients know it: `5d`, or `<unknown>` where there is none. `now` is in milliseconds. */
export function age(time: string | null | undefined, now: number): string {
  const since = time ? Date.parse(time) : Number.NaN;
  return Number.isNaN(since) ? unknown : humanDuration(now - since);
}

/** A column of text, shown always unless a priority says otherwise. */
export const column = (
  name: string,
  description: string,
  value: (object: ApiObject, now: number) => Cell,
  options: Partial<Pick<Column, 'type' | 'format' | 'priority'>> = {},
): Column => ({ name, type: 'string', format: '', description, priority: 0, value, ...options });

export const nameColumn = column('Name', 'Name of the object.', (object) => object.metadata.name ?? '', {
  format: 'name',
});

export const ageColumn = column('Age', 'Time since the object was created.', (object, now) =>
  age(object.metadata.creationTimestamp, now),
);

/** For kinds whose age says little: the time itself. */
export const createdAtColumn = column(
  'Created At',
  'When the object was created.',
  (object) => object.metadata.creationTimestamp ?? '',
  { type: 'date' },
);

/** Only in wide output. */
export const wide = { priority: 1 } as const;
