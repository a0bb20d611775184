import { isIPv4 } from 'node:net';
import { isIpv6 } from '../../base/ip-version.ts';
import type { Logger } from '../../base/logger.ts';
import { parseQuantity } from '../../meta/quantity.ts';
import { boolean, choice, duration, type Flag, type FlagTable, integer, ipAddress } from './flags.ts';

/**
 * Flags of the published program that a command does not implement, so that existing scripts keep working. A flag
 * without effect is accepted with a warning; one whose silent loss would mislead is refused.
 */
export interface PublishedFlags {
  readonly ignored: readonly IgnoredFlags[];
  readonly refused: readonly RefusedFlags[];
}

/** Flags without effect, for one reason. Their values are still validated. */
interface IgnoredFlags {
  /** For the log and the documentation: lower case, no full stop. */
  readonly because: string;
  readonly flags: Readonly<Record<string, Form>>;
}

/** Flags or values that are refused, for one reason. */
interface RefusedFlags {
  /** The reason, and what to do instead. */
  readonly because: string;
  /** With the forms that the published program reads. */
  readonly flags?: Readonly<Record<string, Form>>;
  /** Refused values of flags that are otherwise ignored. */
  readonly values?: Readonly<Record<string, RefusedValue>>;
}

interface RefusedValue {
  /** For the documentation. */
  readonly shown: string;
  readonly test: (value: unknown) => boolean;
}

/** The parser of a value. */
type Form = Pick<Flag<unknown>, 'isSwitch' | 'placeholder' | 'parse'>;

/** A given flag without effect. */
export interface IgnoredFlag {
  readonly name: string;
  readonly because: string;
}

/** The flag table of the published flags. The value of a flag that was not given is undefined. */
export function publishedFlagTable({ ignored, refused }: PublishedFlags): FlagTable {
  const taken = ignored.flatMap(({ flags }) =>
    Object.entries(flags).map(([name, form]) => [name, published(form, refusalOf(refused, name))] as const),
  );
  const never = refused.flatMap(({ because, flags = {} }) =>
    Object.keys(flags).map((name) => [name, published(refusing(because), () => {})] as const),
  );
  return Object.fromEntries([...taken, ...never]);
}

/** The same flags, none of them refused: for programs that nobody relies on. */
export const takingAll = ({ ignored, refused }: PublishedFlags): PublishedFlags => ({
  ignored: [...ignored, ...refused.flatMap(({ because, flags }) => (flags ? [{ because, flags }] : []))],
  refused: [],
});

const published = (form: Form, check: (value: unknown) => void): Flag<unknown> => ({
  ...form,
  help: '',
  default: undefined,
  defaultText: '',
  parse(text) {
    const value = form.parse(text, undefined);
    check(value);
    return value;
  },
});

/** Returns a check that throws for refused values of this flag. */
function refusalOf(refused: readonly RefusedFlags[], name: string): (value: unknown) => void {
  const found = refused.flatMap(({ because, values = {} }) =>
    Object.hasOwn(values, name) ? [{ because, value: values[name] }] : [],
  );
  return (value) => {
    for (const each of found) if (each.value?.test(value)) throw new Error(`is refused: ${each.because}`);
  };
}

/** Refuses the flag with or without a value: as a switch it leaves the next argument alone. */
const refusing = (because: string): Form => ({
  isSwitch: true,
  placeholder: '',
  parse() {
    throw new Error(`is refused: ${because}`);
  },
});

/** The ignored flags that were given, each once. */
export const ignoredFlags = (
  { ignored }: PublishedFlags,
  values: Readonly<Record<string, unknown>>,
): readonly IgnoredFlag[] =>
  ignored.flatMap(({ because, flags }) =>
    Object.keys(flags)
      .filter((name) => values[name] !== undefined)
      .map((name) => ({ name, because })),
  );

/** Logs one warning per flag. */
export function warnOfIgnored(logger: Logger, flags: readonly IgnoredFlag[]): void {
  for (const { name, because } of flags) logger.warn('a flag changes nothing here', { flag: `--${name}`, because });
}

const help = '';
const count = { default: 0, min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER, help };

const form = (placeholder: string, isValid: (text: string) => boolean): Form => ({
  isSwitch: false,
  placeholder,
  parse(text) {
    if (!isValid(text)) throw new Error(`${JSON.stringify(text)} is not of the form ${placeholder}`);
    return text;
  },
});

/** Comma-separated items, possibly none. */
const listOf =
  (isItem: (item: string) => boolean, itemsMax = Number.POSITIVE_INFINITY) =>
  (text: string): boolean => {
    const items = text === '' ? [] : text.split(',').map((item) => item.trim());
    return items.length <= itemsMax && items.every(isItem);
  };

/** Value parsers equivalent to those of the published programs. */
export const forms = {
  switch: boolean({ default: false, help }),
  integer: integer(count),
  unsigned: integer({ ...count, min: 0 }),
  ip: ipAddress({ default: '', help }),
  float: form('NUMBER', (text) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)),
  duration: duration({ default: 0, defaultText: '', max: Number.MAX_SAFE_INTEGER, help }),
  text: form('TEXT', () => true),
  size: form('QUANTITY', (text) => parseQuantity(text) !== undefined),
  /** Per component, or for all. */
  versions: form(
    '[COMPONENT=]MAJOR.MINOR,...',
    listOf((item) => /^([^=]+=)?\d+\.\d+$/.test(item)),
  ),
  /** Log levels by file pattern. */
  levels: form(
    'PATTERN=NUMBER,...',
    listOf((item) => /^[^=]+=\d+$/.test(item)),
  ),
  sizes: form(
    'RESOURCE#NUMBER,...',
    listOf((item) => /^[^#]+#\d+$/.test(item)),
  ),
  networks: form('CIDR[,CIDR]', listOf(isNetwork, 2)),
  ports: form('FROM-TO', isPortRange),
  oneOf: <const T extends string>(...of: readonly T[]): Form => choice<T>({ of, default: of[0] as T, help }),
} as const;

function isNetwork(text: string): boolean {
  const [, address = '', length = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  return Number(length) <= (isIPv4(address) ? 32 : isIpv6(address) ? 128 : -1);
}

/** `30000-32767`, a first port and a count (`30000+100`), or one port. */
function isPortRange(text: string): boolean {
  const [, from = '', sign, rest = '0'] = /^\s*(\d{1,5})(?:([-+])(\d{1,5}))?\s*$/.exec(text) ?? [];
  const first = from === '' ? Number.NaN : Number(from);
  const last = sign === '-' ? Number(rest) : first + Number(rest);
  return text.trim() === '' || (first <= last && last <= 65_535);
}

/** A switch set to false. */
export const off: RefusedValue = { shown: 'false', test: (value) => value === false };
/** A switch set to true. */
export const on: RefusedValue = { shown: 'true', test: (value) => value === true };
