import { createRequire } from 'node:module';
import { WeakValues } from '../base/collections/weak-values.ts';
import { limits } from '../base/limits.ts';

/** A compiled pattern; matching takes time linear in the text. */
interface CompiledPattern {
  matcher(text: string): { find(): boolean };
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

/** A test whether the pattern matches anywhere in a text, compiled on first use. Nothing matches an invalid pattern. */
export function patternTest(pattern: string): (text: string) => boolean {
  let test: ((text: string) => boolean) | undefined;
  return (text) => {
    test ??= compileTest(pattern);
    return test(text);
  };
}

function compileTest(pattern: string): (text: string) => boolean {
  if (problemOfPattern(pattern) !== undefined) return () => false;
  const made = compilePattern(pattern);
  return (text) => made.matcher(text).find();
}

/** What is wrong with a pattern, as kube-apiserver says it; undefined if nothing is. */
export function problemOfPattern(pattern: string): string | undefined {
  if (pattern.length > limits.patternLengthMax) return `must have no more than ${limits.patternLengthMax} characters`;
  if (countOfClasses(pattern) > limits.patternClassesMax) {
    return `must have no more than ${limits.patternClassesMax} Unicode classes`;
  }
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return `must be a valid regular expression, but isn't: ${text}`;
  }
}

/** Each costs as much as hundreds of characters. */
const countOfClasses = (pattern: string): number => pattern.split(/\\[pP]/).length - 1;
