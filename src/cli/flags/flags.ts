import { ipVersion } from '../../base/ip-version.ts';
import { parseDuration } from '../../base/time/duration.ts';
import { UsageError } from '../usage-error.ts';

/** One flag of a command: its parser and help text. */
export interface Flag<T> {
  /** Value placeholder in help: `FILE`, `HOST:PORT`. Empty for switches. */
  readonly placeholder: string;
  readonly help: string;
  readonly default: T;
  /** The default as shown in help; '' shows none. */
  readonly defaultText: string;
  /** True for a switch: `--flag` alone means `--flag=true`, and the next argument is never its value. */
  readonly isSwitch: boolean;
  /**
   * Returns the value after this occurrence; `before` is the value of earlier occurrences. Throws an Error with the
   * problem.
   */
  parse(text: string, before: T | undefined): T;
}

/** The flags of a command, by name without dashes. */
export type FlagTable = Readonly<Record<string, Flag<unknown>>>;
export type FlagValues<Table extends FlagTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Flag<infer T> ? T : never;
};

interface Described<T> {
  readonly help: string;
  readonly placeholder?: string;
  readonly default: T;
  readonly defaultText?: string;
}

function flag<T>(described: Described<T>, placeholder: string, parse: Flag<T>['parse']): Flag<T> {
  return {
    placeholder: described.placeholder ?? placeholder,
    help: described.help,
    default: described.default,
    defaultText: described.defaultText ?? describeDefault(described.default),
    isSwitch: false,
    parse,
  };
}

function describeDefault(value: unknown): string {
  if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return '';
  return Array.isArray(value) ? value.join(',') : String(value);
}

/** Any text but an empty one. */
export const text = (described: Described<string>): Flag<string> => flag(described, 'TEXT', notEmpty);

/** Text without a default. */
export const optionalText = (described: Omit<Described<never>, 'default'>): Flag<string | undefined> =>
  flag<string | undefined>({ ...described, default: undefined }, 'TEXT', notEmpty);

/** The path of a file, without a default. The file is not read here. */
export const file = (described: Omit<Described<never>, 'default'>): Flag<string | undefined> =>
  flag<string | undefined>({ ...described, default: undefined }, 'FILE', notEmpty);

function notEmpty(value: string): string {
  if (value === '') throw new Error('must not be empty');
  return value;
}

/** One of a fixed set of values. */
export const choice = <const T extends string>(described: Described<T> & { readonly of: readonly T[] }): Flag<T> =>
  flag(described, described.of.join('|'), (value) => {
    const chosen = described.of.find((each) => each === value);
    if (chosen === undefined)
      throw new Error(`${quote(value)} is not one of ${described.of.filter((each) => each !== '').join(', ')}`);
    return chosen;
  });

/** An integer between `min` and `max`, inclusive. */
export const integer = (described: Described<number> & { readonly min: number; readonly max: number }): Flag<number> =>
  flag(described, 'NUMBER', (value) => {
    const parsed = /^-?\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (!(parsed >= described.min && parsed <= described.max)) {
      throw new Error(`${quote(value)} is not a whole number from ${described.min} to ${described.max}`);
    }
    return parsed;
  });

/** A switch with the values of Go's `strconv.ParseBool`, which scripts written for kube-apiserver use. */
export const boolean = (described: Described<boolean>): Flag<boolean> => ({
  ...flag(described, '', (value) => {
    if (/^(1|t|T|true|True|TRUE)$/.test(value)) return true;
    if (/^(0|f|F|false|False|FALSE)$/.test(value)) return false;
    throw new Error(`${quote(value)} is neither true nor false`);
  }),
  isSwitch: true,
});

/**
 * A duration as parsed by `base/time/duration.ts`, in milliseconds. Not negative, and not above the limit of timers unless
 * `max` allows it.
 */
export const duration = (
  described: Described<number> & { readonly defaultText: string; readonly max?: number },
): Flag<number> =>
  flag(described, 'DURATION', (value) => {
    const duration = parseDuration(value);
    if (duration === undefined || duration < 0 || /^[+-]/.test(value)) {
      throw new Error(`${quote(value)} is not a duration such as 70s, 1m30s or 1h`);
    }
    if (duration > (described.max ?? durationMsMax)) throw new Error(`${quote(value)} is too long`);
    return duration;
  });

/** An IP address of either version. */
export const ipAddress = (described: Described<string>): Flag<string> => flag(described, 'IP', parseIpAddress);

/** An IP address without a default. */
export const optionalIpAddress = (described: Omit<Described<never>, 'default'>): Flag<string | undefined> =>
  flag<string | undefined>({ ...described, default: undefined }, 'IP', parseIpAddress);

function parseIpAddress(value: string): string {
  if (ipVersion(value) === 0) throw new Error(`${quote(value)} is not an IP address`);
  return value;
}

/** Comma-separated items; repeated flags accumulate. */
export const list = (described: Described<readonly string[]>): Flag<readonly string[]> =>
  flag(described, 'LIST', (value, before) => {
    const items = value.split(',').map((item) => item.trim());
    if (items.includes('')) throw new Error(`${quote(value)} has an empty item`);
    return [...(before ?? []), ...items];
  });

/** One item with arbitrary text; repeated flags accumulate. */
export const repeated = (described: Omit<Described<never>, 'default'>): Flag<readonly string[]> =>
  flag<readonly string[]>({ ...described, default: [] }, 'TEXT', (value, before) => [
    ...(before ?? []),
    notEmpty(value),
  ]);

/** The same flag with value undefined if it was not given. Help shows the default. */
export const orUndefined = <T>(described: Flag<T>): Flag<T | undefined> => ({ ...described, default: undefined });

/** One `key=value` with an arbitrary value; repeated flags accumulate. */
export const map = (described: Omit<Described<never>, 'default'>): Flag<ReadonlyMap<string, string>> =>
  flag<ReadonlyMap<string, string>>(
    { ...described, default: new Map(), defaultText: '' },
    'KEY=VALUE',
    (value, before) => {
      const [, key = '', setting = ''] = /^\s*([^=]*)=([\s\S]*)$/.exec(value) ?? [];
      if (key === '') throw new Error(`${quote(value)} is not KEY=VALUE`);
      return new Map([...(before ?? []), [key, setting]]);
    },
  );

/** Comma-separated items of a fixed set; repeated flags accumulate. */
export const choices = <const T extends string>(
  described: Described<readonly T[]> & { readonly of: readonly T[] },
): Flag<readonly T[]> => {
  const texts = list(described);
  return flag({ ...described }, 'LIST', (value, before) =>
    texts.parse(value, before).map((item) => {
      const chosen = described.of.find((each) => each === item);
      if (chosen === undefined) throw new Error(`${quote(item)} is not one of ${described.of.join(', ')}`);
      return chosen;
    }),
  );
};

/** Timers of the runtime hold 31 bits of milliseconds: 24 days. */
const durationMsMax = 2 ** 31 - 1;

/** What is wrong with a command line. */
export type FlagProblem =
  /** `dashes` and `name` as they were written. */
  | { readonly type: 'unknown' | 'noValue'; readonly dashes: string; readonly name: string }
  | {
      readonly type: 'badValue';
      readonly dashes: string;
      readonly name: string;
      readonly value: string;
      readonly reason: string;
    }
  | { readonly type: 'argument'; readonly argument: string };

/** A command line that does not fit its flags. */
export class FlagError extends UsageError {
  readonly problem: FlagProblem;

  constructor(problem: FlagProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

/**
 * Parses `--name=value`, `--name value`, `--name` for switches, and one-letter names with one dash. The last occurrence
 * wins, except for lists. Throws a FlagError that names the flag.
 */
export function parseFlags<Table extends FlagTable>(table: Table, args: readonly string[]): FlagValues<Table> {
  const values: Record<string, unknown> = {};
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const { dashes, name, inline } = splitArgument(arg, table);
    const known = Object.hasOwn(table, name) ? table[name] : undefined;
    const flag = `${dashes}${name}`;
    if (!known) {
      const hint = suggestion(name, Object.keys(table));
      throw new FlagError({ type: 'unknown', dashes, name }, `unknown flag ${flag}${hint}`);
    }
    const value = inline ?? (known.isSwitch ? 'true' : nextValue(rest));
    if (value === undefined) {
      throw new FlagError({ type: 'noValue', dashes, name }, `${flag} needs a value: ${flag}=${known.placeholder}`);
    }
    try {
      values[name] = known.parse(value, values[name]);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new FlagError({ type: 'badValue', dashes, name, value, reason }, `${flag}: ${reason}`);
    }
  }
  const defaults = Object.entries(table).map(([name, each]) => [name, each.default]);
  return { ...Object.fromEntries(defaults), ...values } as FlagValues<Table>;
}

/** The next argument, unless it starts with dashes: such a value must be written with `=`. */
const nextValue = (rest: string[]): string | undefined => (rest[0]?.startsWith('--') ? undefined : rest.shift());

interface Argument {
  readonly dashes: string;
  readonly name: string;
  /** The text after `=`. */
  readonly inline: string | undefined;
}

function splitArgument(arg: string, table: FlagTable): Argument {
  const [, dashes, name, , inline] = /^(--?)([^=]+)(=([\s\S]*))?$/.exec(arg) ?? [];
  if (dashes === undefined || name === undefined || name.startsWith('-')) {
    const hint = /^(true|false)$/.test(arg) ? ': write switches as --flag=false' : '';
    throw new FlagError({ type: 'argument', argument: arg }, `unexpected argument ${quote(arg)}${hint}`);
  }
  if (dashes === '-' && name.length > 1) {
    const meant = Object.hasOwn(table, name) ? `; did you mean --${name}?` : '';
    throw new FlagError({ type: 'unknown', dashes, name }, `unknown flag -${name}${meant}`);
  }
  // As in kube-apiserver, `_` is accepted for `-` in names.
  const dashed = name.replaceAll('_', '-');
  return { dashes, name: Object.hasOwn(table, dashed) ? dashed : name, inline };
}

/** Returns `; did you mean --x?` for the nearest name if it is close enough to be a typing error. */
export function suggestion(name: string, known: readonly string[], dashes = '--'): string {
  const ranked = known
    .map((each) => ({ each, distance: editDistance(name.toLowerCase(), each) }))
    .sort((a, b) => a.distance - b.distance);
  const [nearest] = ranked;
  const allowed = Math.max(1, Math.floor(name.length / 4));
  return nearest && nearest.distance <= allowed ? `; did you mean ${dashes}${nearest.each}?` : '';
}

/** Levenshtein distance: insertions, deletions and replacements of characters. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

const quote = (value: string): string => JSON.stringify(value);
