import { CelFault } from './fault.ts';
import { formatProblem } from './library/format.ts';
import { compilePattern } from './library/patterns.ts';
import { parseDuration, parseTimestamp, timestampOfSeconds } from './library/timestamp-text.ts';
import type { Call, Expr } from './syntax.ts';
import type { CelType } from './type.ts';
import type { CelValue } from './value.ts';

/** Literals validated at compile time: patterns, durations, timestamps. Patterns of searches: see `constant-faults.ts`. */
const readers: Readonly<Record<string, (literal: CelValue) => unknown>> = {
  matches: ofText(compilePattern),
  duration: ofText(parseDuration),
  timestamp: (literal) => (typeof literal === 'bigint' ? timestampOfSeconds(literal) : ofText(parseTimestamp)(literal)),
};

/** Literals of other types are somebody else's error, or none. */
function ofText(read: (text: string) => unknown): (literal: CelValue) => unknown {
  return (literal) => (typeof literal === 'string' ? read(literal) : undefined);
}

/** Faults of which kube-apiserver does not say why they are: all but that a pattern is too long, which it does not mind. */
const unexplained = /^invalid | out of range$/;

interface LiteralContext {
  /** Told of what is wrong at an offset of the source. */
  readonly complain: (at: number, reason: string) => void;
  readonly typeOf: (expr: Expr) => CelType;
}

export function validateLiterals(call: Call, { complain, typeOf }: LiteralContext): void {
  if (call.name === 'format') validateFormat(call, { complain, typeOf });
  const reader = Object.hasOwn(readers, call.name) ? readers[call.name] : undefined;
  const parsed = reader === undefined ? undefined : parsedArgument(call);
  if (reader === undefined || parsed?.kind !== 'literal') return;
  try {
    reader(parsed.value);
  } catch (error) {
    if (!(error instanceof CelFault)) throw error;
    complain(parsed.at, unexplained.test(error.reason) ? `invalid ${call.name} argument` : error.reason);
  }
}

/** The argument that is parsed: for `a.matches(b)` and `matches(a, b)`, the pattern. */
const parsedArgument = ({ name, target, args }: Call): Expr | undefined =>
  name === 'matches' && target === undefined ? args[1] : args[0];

/** `'...'.format([...])`: the clauses must be valid, and their values of the right types. */
function validateFormat({ at, target, args: [values] }: Call, { complain, typeOf }: LiteralContext): void {
  if (target?.kind !== 'literal' || typeof target.value !== 'string' || values?.kind !== 'list') return;
  if (values.elements.some(({ optional }) => optional)) return;
  const problem = formatProblem(
    target.value,
    values.elements.map(({ value }) => typeOf(value)),
  );
  if (problem) complain(values.elements[problem.argument ?? -1]?.value.at ?? at, problem.reason);
}
