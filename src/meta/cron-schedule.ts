import { durationProblem, parseDuration } from '../base/time/duration.ts';
import { isTimeZone, zoneOffsetMs } from './time-zone.ts';

/**
 * Schedules of five fields, as cron has them: minute, hour, day of the month, month, day of the week. What is accepted, the
 * texts of problems, and the times at transitions of a zone are those of the library that the published controller uses.
 */
export type CronSchedule =
  | { readonly type: 'every'; readonly delayMs: number }
  | {
      readonly type: 'fields';
      /** The zone that the schedule names itself; '' is UTC. */
      readonly zone?: string | undefined;
      readonly minutes: Field;
      readonly hours: Field;
      readonly days: Field;
      readonly months: Field;
      readonly weekdays: Field;
    };

type FieldSchedule = Extract<CronSchedule, { readonly type: 'fields' }>;

interface Field {
  readonly values: ReadonlySet<number>;
  /** Any value, and said so by a star: then a day has to fit the other one of the two fields for days. */
  readonly star: boolean;
}

type ReadSchedule = { readonly schedule: CronSchedule } | { readonly problem: string };

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const bounds = {
  minutes: { min: 0, max: 59 },
  hours: { min: 0, max: 23 },
  days: { min: 1, max: 31 },
  months: { min: 1, max: 12, names: ['', ...'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')] },
  weekdays: { min: 0, max: 6, names: 'sun mon tue wed thu fri sat'.split(' ') },
} as const satisfies Record<string, Bounds>;

type FieldName = keyof typeof bounds;
const fieldNames = Object.keys(bounds) as readonly FieldName[];

/** What a descriptor stands for. */
const descriptors: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** Reads a schedule: five fields, `@daily`, `@every 1h30m`; before it may stand `TZ=` or `CRON_TZ=`, a zone and a space. */
export function readSchedule(text: string): ReadSchedule {
  if (text === '') return { problem: 'empty spec string' };
  const [, zone, rest = text] = /^(?:CRON_)?TZ=([^ ]*)(.*)$/s.exec(text) ?? [];
  const wrong = zone === undefined ? undefined : zoneProblem(zone);
  if (wrong !== undefined) return { problem: `provided bad location ${zone}: ${wrong}` };
  const spec = zone === undefined ? text : rest.trim();
  return spec.startsWith('@') ? readDescriptor(spec, zone) : readFields(spec, zone);
}

/** What is wrong with the name of a zone, as Go says it. */
export function zoneProblem(zone: string): string | undefined {
  if (zone === '' || zone === 'Local' || isTimeZone(zone)) return undefined;
  return zone.split(/[/\\]/).includes('..') || /^[/\\]/.test(zone)
    ? 'time: invalid location name'
    : `unknown time zone ${zone}`;
}

const every = '@every ';

function readDescriptor(spec: string, zone: string | undefined): ReadSchedule {
  const fields = Object.hasOwn(descriptors, spec) ? descriptors[spec] : undefined;
  if (fields !== undefined) return readFields(fields, zone);
  if (!spec.startsWith(every)) return { problem: `unrecognized descriptor: ${spec}` };
  const duration = spec.slice(every.length);
  const problem = durationProblem(duration);
  if (problem !== undefined) return { problem: `failed to parse duration ${spec}: ${problem}` };
  const seconds = Math.floor((parseDuration(duration) ?? 0) / 1000);
  return { schedule: { type: 'every', delayMs: Math.max(1, seconds) * 1000 } };
}

function readFields(spec: string, zone: string | undefined): ReadSchedule {
  const texts = spec.split(/\s+/).filter((text) => text !== '');
  if (texts.length !== fieldNames.length) {
    return { problem: `expected exactly ${fieldNames.length} fields, found ${texts.length}: [${texts.join(' ')}]` };
  }
  const fields: Partial<Record<FieldName, Field>> = {};
  for (const [index, name] of fieldNames.entries()) {
    const field = readField(texts[index] ?? '', bounds[name]);
    if (typeof field === 'string') return { problem: field };
    fields[name] = field;
  }
  return {
    schedule: { type: 'fields', zone: zone === 'Local' ? undefined : zone, ...(fields as Record<FieldName, Field>) },
  };
}

/** A list of ranges, or what is wrong with the first that is none. */
function readField(text: string, bounds: Bounds): Field | string {
  const values = new Set<number>();
  let star = false;
  for (const expression of text.split(',')) {
    if (expression === '') continue;
    const range = readRange(expression, bounds);
    if (typeof range === 'string') return range;
    for (let value = range.first; value <= range.last; value += range.step) values.add(value);
    star ||= range.star;
  }
  return { values, star };
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly step: number;
  readonly star: boolean;
}

/** `*`, `*` with a step, `5`, `5/15`, `1-5`, `1-5/2`; or what is wrong. */
function readRange(text: string, { min, max, names = [] }: Bounds): Range | string {
  const [span = '', stepText, ...further] = text.split('/');
  const [low = '', high, ...more] = span.split('-');
  const whole = low === '*' || low === '?';
  const first = whole ? min : readNumber(low, names);
  if (typeof first === 'string') return first;
  if (!whole && more.length > 0) return `too many hyphens: ${text}`;
  const end = whole ? max : high === undefined ? first : readNumber(high, names);
  if (typeof end === 'string') return end;
  if (further.length > 0) return `too many slashes: ${text}`;
  const step = stepText === undefined ? 1 : readNumber(stepText);
  if (typeof step === 'string') return step;
  const last = stepText !== undefined && high === undefined ? max : end;
  if (first < min) return `beginning of range (${first}) below minimum (${min}): ${text}`;
  if (last > max) return `end of range (${last}) above maximum (${max}): ${text}`;
  if (first > last) return `beginning of range (${first}) beyond end of range (${last}): ${text}`;
  if (step === 0) return `step of range should be a positive number: ${text}`;
  return { first, last, step, star: whole && step === 1 };
}

function readNumber(text: string, names: readonly string[] = []): number | string {
  const named = text === '' ? -1 : names.indexOf(text.toLowerCase());
  if (named >= 0) return named;
  const parsing = `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}`;
  if (!/^[+-]?\d+$/.test(text)) return `${parsing}: invalid syntax`;
  const value = Number(text);
  if (Math.abs(value) >= 2 ** 63) return `${parsing}: value out of range`;
  return value < 0 ? `negative number (${value}) not allowed: ${text}` : value;
}

/** Years after which a schedule that found no time has none, such as one for the 30th of February. */
const yearsMax = 5;

/**
 * The first time of a schedule after `after`, in milliseconds since 1970. `zone` counts if the schedule names none.
 * Undefined if there is no such time. A time that a zone leaves out is left out; one that it has twice is there twice.
 */
export function nextTime(schedule: CronSchedule, after: number, zone = 'UTC'): number | undefined {
  const second = Math.floor(after / 1000) * 1000;
  if (schedule.type === 'every') return second + schedule.delayMs;
  if (fieldNames.some((name) => schedule[name].values.size === 0)) return undefined;
  const search = new Search(schedule, second + 1000, schedule.zone ?? zone);
  const yearMax = search.local().getUTCFullYear() + yearsMax;
  while (search.local().getUTCFullYear() <= yearMax) if (search.toFittingTime()) return search.at;
  return undefined;
}

/**
 * A time that is moved on until it fits. Each step moves to the next value of its unit that fits; one that passes
 * the end of the unit above begins the search again, since what fitted there may not any more.
 */
class Search {
  at: number;
  /** Smaller units were set to their beginning, as happens with the first move. */
  #moved = false;
  readonly #schedule: FieldSchedule;
  readonly #zone: string;

  constructor(schedule: FieldSchedule, at: number, zone: string) {
    this.at = at;
    this.#schedule = schedule;
    this.#zone = zone;
  }

  /** A date whose UTC fields are those of the time in the zone. */
  local(): Date {
    return new Date(this.at + this.#offset(this.at));
  }

  toFittingTime(): boolean {
    return this.#toMonth() && this.#toDay() && this.#toHour() && this.#toMinute() && this.#toSecond();
  }

  #toMonth(): boolean {
    for (let date = this.local(); !this.#schedule.months.values.has(date.getUTCMonth() + 1); date = this.local()) {
      const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
      this.#begin(Date.UTC(year, month, 1));
      const from = this.local();
      this.at = this.#instant(Date.UTC(year, month + 1, 1, from.getUTCHours(), from.getUTCMinutes()));
      if (this.local().getUTCMonth() === 0) return false;
    }
    return true;
  }

  #toDay(): boolean {
    for (let date = this.local(); !this.#dayFits(date); date = this.local()) {
      const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
      this.#begin(Date.UTC(year, month, day));
      const from = this.local();
      this.at = this.#instant(Date.UTC(year, month, day + 1, from.getUTCHours(), from.getUTCMinutes()));
      // Some zones have no midnight on the day of a transition.
      const hour = this.local().getUTCHours();
      if (hour !== 0) this.at += (hour > 12 ? 24 - hour : -hour) * 3600_000;
      if (this.local().getUTCDate() === 1) return false;
    }
    return true;
  }

  #dayFits(date: Date): boolean {
    const { days, weekdays } = this.#schedule;
    const [day, weekday] = [days.values.has(date.getUTCDate()), weekdays.values.has(date.getUTCDay())];
    return days.star || weekdays.star ? day && weekday : day || weekday;
  }

  #toHour(): boolean {
    for (let date = this.local(); !this.#schedule.hours.values.has(date.getUTCHours()); date = this.local()) {
      this.#begin(Math.floor(date.getTime() / 3600_000) * 3600_000);
      this.at += 3600_000;
      if (this.local().getUTCHours() === 0) return false;
    }
    return true;
  }

  #toMinute(): boolean {
    while (!this.#schedule.minutes.values.has(this.local().getUTCMinutes())) {
      this.at = Math.floor(this.at / 60_000) * 60_000 + 60_000;
      this.#moved = true;
      if (this.local().getUTCMinutes() === 0) return false;
    }
    return true;
  }

  /** Schedules have whole minutes. */
  #toSecond(): boolean {
    const past = this.at % 60_000;
    if (past === 0) return true;
    this.at += 60_000 - past;
    this.#moved = true;
    return false;
  }

  /** The first move sets the time to a local one, the beginning of its unit. */
  #begin(local: number): void {
    if (!this.#moved) this.at = this.#instant(local);
    this.#moved = true;
  }

  /** The instant with a local time; of one that does not exist, or exists twice, the one that Go takes. */
  #instant(local: number): number {
    const offset = this.#offset(local);
    const instant = local - offset;
    const there = this.#offset(instant);
    return there === offset ? instant : local - there;
  }

  #offset(at: number): number {
    return zoneOffsetMs(this.#zone, at) ?? 0;
  }
}
