import { createRequire } from 'node:module';
import { WeakValues } from '../base/collections/weak-values.ts';
import { limits } from '../base/limits.ts';
import { LongWork } from '../base/long-work.ts';

/** A compiled pattern; matching takes time linear in the text. */
interface CompiledPattern {
  matcher(text: string): { find(): boolean };
  programSize(): number;
}

/** Schemas repeat patterns, and compiling one takes a fraction of a millisecond. */
const compiled = new WeakValues<CompiledPattern>();

/** Compiles RE2 syntax. The engine is loaded on the first call. Throws if the pattern is invalid. */
function compilePattern(pattern: string): CompiledPattern {
  const known = compiled.get(pattern);
  if (known) return known;
  const made = loadEngine().compile(pattern);
  compiled.set(pattern, made);
  return made;
}

const loadEngine = (): typeof import('re2js').RE2JS =>
  (createRequire(import.meta.url)('re2js') as typeof import('re2js')).RE2JS;

/** The work that checks may do for one object. Matching takes time linear in the text and in the compiled pattern. */
let stepsLeft = 0;
let isInline = false;

/**
 * Call before an object is validated. Validation is synchronous, so that no other object spends of it. `inline`: checks that
 * would hold the event loop too long throw LongWork.
 */
export function beginChecks(inline: boolean): void {
  isInline = inline;
  stepsLeft = inline ? limits.inlineCheckSteps : limits.patternStepsMax;
}

/** To be called before alternatives are tried: they look at one value many times. */
export function spendOnAlternatives(count: number): void {
  if (!isInline) return;
  stepsLeft -= count * stepsOfAlternative;
  if (stepsLeft < 0) throw new LongWork();
}

/** One takes some tenths of a microsecond. */
const stepsOfAlternative = 50;

type Match = 'found' | 'missing' | 'tooLong';

/**
 * A search for the pattern anywhere in a text, compiled on first use. Nothing matches an invalid pattern. `tooLong`: the
 * work for the object is used up.
 */
export function patternSearch(pattern: string): (text: string) => Match {
  let search: ((text: string) => Match) | undefined;
  return (text) => {
    if (!search) {
      if (isInline && 2 * pattern.length > limits.inlinePatternsWork) throw new LongWork();
      search = compileSearch(pattern);
      spendOnCompiling(pattern);
    }
    return search(text);
  };
}

/** What was compiled is kept: whoever comes next finds it. */
function spendOnCompiling(pattern: string): void {
  if (!isInline) return;
  stepsLeft -= Math.ceil((inspectPattern(pattern).work * limits.inlineCheckSteps) / limits.inlinePatternsWork);
  if (stepsLeft < 0) throw new LongWork();
}

function compileSearch(pattern: string): (text: string) => Match {
  if (inspectPattern(pattern).problem !== undefined) return () => 'missing';
  const made = compilePattern(pattern);
  const size = made.programSize();
  return (text) => {
    stepsLeft -= text.length * size;
    if (stepsLeft < 0) {
      if (isInline) throw new LongWork();
      return 'tooLong';
    }
    return made.matcher(text).find() ? 'found' : 'missing';
  };
}

interface Inspection {
  /** What is wrong with the pattern, as kube-apiserver says it; undefined if nothing is. */
  readonly problem?: string;
  /** What compiling it takes: its characters and instructions, at most a microsecond each. */
  readonly work: number;
}

/** Checks a pattern by compiling it, unless it is refused before. */
export function inspectPattern(pattern: string): Inspection {
  const classes = countOfClasses(pattern);
  const work = pattern.length + classes * workOfClass;
  if (pattern.length > limits.patternLengthMax) {
    return { work: 0, problem: `must have no more than ${limits.patternLengthMax} characters` };
  }
  if (classes > limits.patternClassesMax) {
    return { work: 0, problem: `must have no more than ${limits.patternClassesMax} Unicode classes` };
  }
  try {
    const size = compilePattern(pattern).programSize();
    const problem = 'must not expand to so much: its counts are too large';
    return { work: work + size, ...(size > limits.patternProgramMax && { problem }) };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { work, problem: `must be a valid regular expression, but isn't: ${text}` };
  }
}

const workOfClass = 256;

const countOfClasses = (pattern: string): number => pattern.split(/\\[pP]/).length - 1;
