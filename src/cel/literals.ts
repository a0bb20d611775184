import { CelFault } from './fault.ts';
import { formatProblem } from './library/format.ts';
import { compilePattern } from './library/patterns.ts';
import { parseDuration, parseTimestamp } from './library/timestamp-text.ts';
import type { Call, Expr } from './syntax.ts';
import type { CelType } from './type.ts';

/** Literals validated at compile time: patterns, durations, timestamps. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  matches: compilePattern,
  find: compilePattern,
  findAll: compilePattern,
  duration: parseDuration,
  timestamp: parseTimestamp,
};

/** Those that kube-apiserver validates too, without saying why they are wrong. */
const named: ReadonlySet<string> = new Set(['matches', 'duration', 'timestamp']);

interface LiteralContext {
  /** Told of what is wrong at an offset of the source. */
  readonly complain: (at: number, reason: string) => void;
  readonly typeOf: (expr: Expr) => CelType;
}

export function validateLiterals(call: Call, { complain, typeOf }: LiteralContext): void {
  if (call.name === 'format') validateFormat(call, { complain, typeOf });
  const reader = Object.hasOwn(readers, call.name) ? readers[call.name] : undefined;
  const text = reader === undefined ? undefined : literalText(call);
  if (reader === undefined || text?.kind !== 'literal' || typeof text.value !== 'string') return;
  try {
    reader(text.value);
  } catch (error) {
    if (!(error instanceof CelFault)) throw error;
    complain(
      text.at,
      named.has(call.name) && error.reason.startsWith('invalid ') ? `invalid ${call.name} argument` : error.reason,
    );
  }
}

/** The argument that is parsed: for `a.matches(b)` and `matches(a, b)`, the pattern. */
const literalText = ({ name, target, args }: Call): Expr | undefined =>
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
