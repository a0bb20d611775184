import { type CronSchedule, nextTime } from '../../../meta/cron-schedule.ts';

/** When a cron job was due. Times are milliseconds since the epoch. */
interface Due {
  /** The last time that has come and for which no job was made; undefined if there is none. */
  readonly at: number | undefined;
  /** Times that have come since the last job, about. */
  readonly missed: number;
}

interface DueOptions {
  readonly schedule: CronSchedule;
  readonly zone: string;
  /** Time of the last job; before the first, when the cron job was made. */
  readonly sinceMs: number;
  /** Nothing that was due longer ago counts. */
  readonly deadlineMs?: number | undefined;
  readonly nowMs: number;
}

/**
 * The number of missed times is worked out from the distance of the first two, as published. A cron job that slept for years
 * costs little more than one that slept for a minute.
 */
export function dueOf({ schedule, zone, sinceMs, deadlineMs, nowMs }: DueOptions): Due {
  const earliest = Math.max(sinceMs, deadlineMs === undefined ? Number.NEGATIVE_INFINITY : nowMs - deadlineMs);
  const next = (after: number): number => nextTime(schedule, after, zone) ?? Number.POSITIVE_INFINITY;
  const first = next(earliest);
  if (nowMs < first) return { at: undefined, missed: 0 };
  const second = next(first);
  if (nowMs < second) return { at: first, missed: 1 };
  const between = Math.max(1_000, Math.round((second - first) / 1_000) * 1_000);
  const missed = Math.floor((nowMs - first) / between) + 1;
  // Intervals count from the time before: they have no place of their own in time.
  if (schedule.type === 'every') return { at: first + (missed - 1) * between, missed };
  return { at: lastTime(next, second, nowMs), missed };
}

/** The last time up to `nowMs`, of which `known` is one, by halves: there may be millions in between. */
export function lastTime(next: (after: number) => number, known: number, nowMs: number): number {
  let [last, end] = [known, nowMs];
  while (end - last > 1_000) {
    const middle = Math.floor((last + end) / 2);
    const time = next(middle);
    if (time <= nowMs) last = time;
    else end = middle;
  }
  const after = next(last);
  return after <= nowMs ? after : last;
}

/** Milliseconds until the next time comes, and a little more: timers may be early. Undefined if it never does. */
export function untilNextMs(options: Omit<DueOptions, 'deadlineMs'>): number | undefined {
  const { schedule, zone, sinceMs, nowMs } = options;
  const { at, missed } = dueOf(options);
  const next = nextTime(schedule, at ?? (missed === 0 ? sinceMs : nowMs), zone);
  return next === undefined ? undefined : next + 100 - nowMs;
}
