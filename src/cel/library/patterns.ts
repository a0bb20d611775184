import { RE2JS } from 're2js';
import { limits } from '../../base/limits.ts';
import { CelFault } from '../fault.ts';
import { costPerCharacter, costPerPatternCharacter, type Meter } from '../meter.ts';
import { define, defineMethod } from '../overload.ts';
import { boolType, intType, listType, stringType } from '../type.ts';
import type { CelList } from '../value.ts';

/** Patterns that stand in sources. */
const literals = new Map<string, RE2JS>();

/**
 * Compiles a pattern of RE2 that stands in a source, and keeps it; matching takes a time that grows with the text and not
 * beyond. Throws CelFault for what is none.
 */
export function compilePattern(pattern: string): RE2JS {
  const made = literals.get(pattern) ?? tryCompile(pattern, (error) => `invalid regular expression: ${error}`);
  if (literals.size >= limits.celPatternsKept) literals.delete(literals.keys().next().value ?? '');
  literals.set(pattern, made);
  return made;
}

/** One that is met when evaluating: from a variable, or made. It is paid for and not kept, and errors don't show it. */
function patternFor(pattern: string, meter: Meter): RE2JS {
  const known = literals.get(pattern);
  if (known !== undefined) return known;
  meter.spend(pattern.length * costPerCompiledCharacter);
  return tryCompile(pattern, () => 'invalid regular expression');
}

/** Compiling takes some microseconds a character. */
const costPerCompiledCharacter = 50;

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

const matchCost = (text: string, pattern: string): number =>
  Math.ceil((1 + text.length) * costPerCharacter) * Math.ceil(pattern.length * costPerPatternCharacter);

const matches = (text: string, pattern: string, meter: Meter): boolean =>
  patternFor(pattern, meter).matcher(text).find();

function find(text: string, pattern: string, meter: Meter): string {
  const matcher = patternFor(pattern, meter).matcher(text);
  return matcher.find() ? (matcher.group() ?? '') : '';
}

function findAll(text: string, pattern: string, limit: bigint, meter: Meter): CelList {
  const matcher = patternFor(pattern, meter).matcher(text);
  const found: string[] = [];
  while ((limit < 0n || found.length < limit) && matcher.find()) {
    meter.spend(1);
    found.push(matcher.group() ?? '');
  }
  return found;
}

const [S, listOfStrings] = [stringType, listType(stringType)];

/** `matches` of the language, and the extension for regular expressions of the published servers. */
export const patterns = [
  define('matches', [S, S], boolType, matches, matchCost),
  defineMethod('matches', [S, S], boolType, matches, matchCost),
  defineMethod('find', [S, S], S, find, matchCost),
  defineMethod(
    'findAll',
    [S, S],
    listOfStrings,
    (text: string, pattern: string, meter: Meter) => findAll(text, pattern, -1n, meter),
    matchCost,
  ),
  defineMethod('findAll', [S, S, intType], listOfStrings, findAll, matchCost),
];
