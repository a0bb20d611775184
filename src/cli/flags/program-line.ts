import { type FlagProblem, type FlagTable, type FlagValues, parseFlags } from './flags.ts';

/**
 * Command lines as published programs read them, where that differs from ours: the argument after a flag is its value
 * whatever it begins with, and an empty value of a text or list is none.
 */
export const parseProgramLine = <Table extends FlagTable>(table: Table, args: readonly string[]): FlagValues<Table> =>
  parseFlags(takingEmpty(table) as Table, joinValues(table, args));

/** Writes `--flag value` as `--flag=value`. */
function joinValues(table: FlagTable, args: readonly string[]): readonly string[] {
  const rest = [...args];
  const joined: string[] = [];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const name = /^--?([^-=][^=]*)$/.exec(arg)?.[1]?.replaceAll('_', '-') ?? '';
    const takesNext = Object.hasOwn(table, name) && !table[name]?.isSwitch && rest.length > 0;
    joined.push(takesNext ? `${arg}=${rest.shift()}` : arg);
  }
  return joined;
}

const takingEmpty = (table: FlagTable): FlagTable =>
  Object.fromEntries(
    Object.entries(table).map(([name, flag]) => {
      if (flag.isSwitch || typeof flag.default === 'number') return [name, flag];
      const parse = (text: string, before: unknown) =>
        text === '' ? (before ?? flag.default) : flag.parse(text, before);
      return [name, { ...flag, parse }];
    }),
  );

/** What the published API server prints about a command line that does not fit. */
export function describeProblem(program: string, problem: FlagProblem): string {
  switch (problem.type) {
    case 'unknown':
      return problem.dashes === '-'
        ? `unknown shorthand flag: ${quoted(problem.name.slice(0, 1))} in -${problem.name}`
        : `unknown flag: --${problem.name}`;
    case 'noValue':
      return problem.dashes === '-'
        ? `flag needs an argument: ${quoted(problem.name)} in -${problem.name}`
        : `flag needs an argument: --${problem.name}`;
    case 'badValue':
      return `invalid argument ${JSON.stringify(problem.value)} for "--${problem.name}" flag: ${problem.reason}`;
    case 'argument':
      return `${JSON.stringify(program)} does not take any arguments, got [${JSON.stringify(problem.argument)}]`;
  }
}

const quoted = (text: string): string => `'${text}'`;
