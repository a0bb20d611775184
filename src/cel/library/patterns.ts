import { type Matcher, RE2JS } from 're2js';
import { limits } from '../../base/limits.ts';
import { CelFault } from '../fault.ts';
import { costPerCharacter, costPerPatternCharacter, type Meter } from '../meter.ts';
import { define, defineMethod } from '../overload.ts';
import { boolType, intType, listType, stringType } from '../type.ts';
import type { CelList } from '../value.ts';

/** Compiled patterns that are literals in sources. */
const literals = new Map<string, RE2JS>();

/**
 * Compiles and caches an RE2 pattern that is a literal in a source. Matching takes time linear in the text. Throws
 * CelFault if the pattern is invalid.
 */
export function compilePattern(pattern: string): RE2JS {
  const made = literals.get(pattern) ?? tryCompile(pattern, (error) => `invalid regular expression: ${error}`);
  if (literals.size >= limits.celPatternsKept) literals.delete(literals.keys().next().value ?? '');
  literals.set(pattern, made);
  return made;
}

/** As `compilePattern`, of a pattern that may be wrong: why it is, in the words of kube-apiserver. */
export function invalidPattern(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof CelFault) return error.reason.replace(/^invalid regular expression: /, '');
    throw error;
  }
}

/**
 * Compiles a pattern known only at evaluation: from a variable, or computed. Its cost is charged, it is not cached, and
 * errors do not show it.
 */
function patternFor(pattern: string, meter: Meter): RE2JS {
  const known = literals.get(pattern);
  if (known !== undefined) return known;
  meter.spend(pattern.length * costPerCompiledCharacter);
  const made = tryCompile(pattern, () => 'invalid regular expression');
  // The size after expanding counts such as `{500}` is known only now; the engine bounds it.
  meter.spend(made.programSize() * costPerInstruction);
  return made;
}

/** Compiling takes some microseconds per character. */
const costPerCompiledCharacter = 50;
const costPerInstruction = 10;

function tryCompile(pattern: string, describe: (error: string) => string): RE2JS {
  if (pattern.length > limits.celPatternLengthMax) {
    throw new CelFault(`a regular expression longer than ${limits.celPatternLengthMax} characters`);
  }
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    throw new CelFault(describe(error instanceof Error ? error.message : String(error)));
  }
}

function matcherOf(text: string, pattern: string, meter: Meter): Matcher {
  const compiled = patternFor(pattern, meter);
  meter.spend(searchCost(compiled, text.length));
  return compiled.matcher(text);
}

/**
 * kube-apiserver charges by the length of the pattern, which makes `(a?){1000}` cheap, and seconds of work a small part of an
 * expression's limit. So a search that may take long is charged by the size of the compiled program.
 */
function searchCost(pattern: RE2JS, length: number): number {
  const traversal = Math.ceil((1 + length) * costPerCharacter);
  const work = traversal * pattern.programSize();
  if (work > limits.ruleCostPerStep) return work;
  const published = traversal * Math.ceil(pattern.pattern().length * costPerPatternCharacter);
  // Few instructions are active at a time, unless the pattern is made to have many.
  return Math.max(published, Math.floor(work / 10));
}

const matches = (text: string, pattern: string, meter: Meter): boolean => matcherOf(text, pattern, meter).find();

function find(text: string, pattern: string, meter: Meter): string {
  const matcher = matcherOf(text, pattern, meter);
  return matcher.find() ? (matcher.group() ?? '') : '';
}

function findAll(text: string, pattern: string, limit: bigint, meter: Meter): CelList {
  const matcher = matcherOf(text, pattern, meter);
  const found: string[] = [];
  while ((limit < 0n || found.length < limit) && matcher.find()) {
    found.push(matcher.group() ?? '');
    // The next search may scan all remaining text, even if it finds nothing. The price covers some short ones.
    const cost = searchCost(matcher.patternInput, text.length - matcher.end());
    if (found.length > searchesCovered || cost > limits.ruleCostPerStep) meter.spend(cost);
  }
  return found;
}

/** Searches of `findAll` that cost no more than one. */
const searchesCovered = 10;

const free = (): number => 0;
const [S, listOfStrings] = [stringType, listType(stringType)];

/** `matches` of the language, and the regular expression extension of kube-apiserver. */
export const patterns = [
  define('matches', [S, S], boolType, matches, free),
  defineMethod('matches', [S, S], boolType, matches, free),
  defineMethod('find', [S, S], S, find, free),
  defineMethod(
    'findAll',
    [S, S],
    listOfStrings,
    (text: string, pattern: string, meter: Meter) => findAll(text, pattern, -1n, meter),
    free,
  ),
  defineMethod('findAll', [S, S, intType], listOfStrings, findAll, free),
];
