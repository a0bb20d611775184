import { dialectNames } from '../../dialect/dialects.ts';
import { apiserverPublishedFlags } from '../flags/apiserver-published-flags.ts';
import { type Flag, FlagError, type FlagValues, parseFlags } from '../flags/flags.ts';
import { publishedFlagTable } from '../flags/published-flags.ts';
import { upFlags } from '../flags/up-flags.ts';

import type { TestServerOptions } from './options.ts';

const known: Readonly<Record<keyof TestServerOptions, true>> = { definitions: true, flags: true, dialect: true };

/** Flags that would keep something, and `dialect`, which is an option. */
const refused: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['data-dir', 'cert-dir', 'sqlite-file', 'storage-backend'].map((name) => [name, 'a test server keeps nothing']),
  ),
  ...Object.fromEntries(
    ['servers', 'servers-overrides', 'prefix', 'cafile', 'certfile', 'keyfile'].map((name) => [
      `etcd-${name}`,
      'a test server has its data in memory',
    ]),
  ),
  dialect: 'see the option dialect',
};

/** The verbosity of a server that logs nothing. */
export const silent = -1;

/** The flags of a test server: where nothing is said it takes a free port and logs nothing. */
const table = {
  ...upFlags,
  ...Object.fromEntries(Object.entries(refused).map(([name, reason]) => [name, refusing(name, reason)])),
  'secure-port': { ...upFlags['secure-port'], default: 0 },
  v: { ...upFlags.v, default: silent },
} as typeof upFlags;

function refusing(name: string, reason: string): Flag<unknown> {
  const flag: Flag<unknown> | undefined = upFlags[name as keyof typeof upFlags];
  if (!flag) throw new RangeError(`there is no flag --${name}`);
  return {
    ...flag,
    parse() {
      throw new Error(`is refused: ${reason}`);
    },
  };
}

export type TestFlagValues = FlagValues<typeof upFlags>;

/** Checks the options, and reads the flags. Throws a TypeError that names the option, and the flag. */
export function readOptions(options: TestServerOptions): TestFlagValues {
  if (typeof options !== 'object' || options === null) throw new TypeError('the options must be an object');
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(known, name)) continue;
    throw new TypeError(`${name} is not an option; known: ${Object.keys(known).join(', ')}`);
  }
  const { dialect = dialectNames[0] as TestFlagValues['dialect'], flags = [] } = options;
  if (!dialectNames.includes(dialect)) {
    throw new TypeError(`dialect must be one of ${dialectNames.join(', ')}, got ${JSON.stringify(dialect)}`);
  }
  try {
    const values = parseFlags({ ...publishedFlagTable(apiserverPublishedFlags), ...table }, lineOf(flags));
    return { ...(values as TestFlagValues), dialect };
  } catch (error) {
    throw error instanceof FlagError ? new TypeError(`flags: ${error.message}`, { cause: error }) : error;
  }
}

/** The flags as a command line. */
function lineOf(flags: NonNullable<TestServerOptions['flags']>): readonly string[] {
  if (typeof flags !== 'object') throw new TypeError(`flags must be an array or an object, got ${typeof flags}`);
  if (Array.isArray(flags)) {
    const other = flags.find((each) => typeof each !== 'string');
    if (other !== undefined) throw new TypeError(`flags: expected texts, got ${JSON.stringify(other)}`);
    return flags;
  }
  return Object.entries(flags).flatMap(([name, value]) =>
    [value ?? []].flat().map((each) => `--${name.replace(/^--/, '')}=${each}`),
  );
}
