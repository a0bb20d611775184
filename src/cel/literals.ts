import { CelFault } from './fault.ts';
import { compilePattern } from './library/patterns.ts';
import { parseDuration, parseTimestamp } from './library/timestamp-text.ts';
import type { Complain } from './macros.ts';
import type { Call, Expr } from './syntax.ts';

/** Literals validated at compile time: patterns, durations, timestamps. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  matches: compilePattern,
  find: compilePattern,
  findAll: compilePattern,
  duration: parseDuration,
  timestamp: parseTimestamp,
};

export function validateLiterals(call: Call, complain: Complain): void {
  const reader = Object.hasOwn(readers, call.name) ? readers[call.name] : undefined;
  const text = reader === undefined ? undefined : literalText(call);
  if (reader === undefined || text?.kind !== 'literal' || typeof text.value !== 'string') return;
  try {
    reader(text.value);
  } catch (error) {
    if (error instanceof CelFault) throw complain(text.at, error.reason);
    throw error;
  }
}

/** The argument that is parsed: for `a.matches(b)` and `matches(a, b)`, the pattern. */
const literalText = ({ name, target, args }: Call): Expr | undefined =>
  name === 'matches' && target === undefined ? args[1] : args[0];
