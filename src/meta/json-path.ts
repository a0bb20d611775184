import { limits } from '../base/limits.ts';

/**
 * JSON paths as in printer columns, in the dialect of kubectl: `.spec.nodeName`, `.metadata.labels.a\.b/c`, `['a.b/c']`,
 * `.items[0]`, `[-1]`, `[0:4:2]`, `[0,2]`, `.items[*].name`, `.spec.*`, `..name`, `[?(@.type=="Ready")].status`. Only own
 * properties match. Null is absent, and so is what an index, slice or filter finds in anything but an array.
 */
export interface JsonPath {
  /** All values at the path, in order; empty if there are none. Looks at no more than `limits.jsonPathValuesMax`. */
  find(value: unknown): readonly unknown[];
}

/** How many values may still be looked at. */
interface Budget {
  left: number;
}

/** The values that a step finds in a value. */
type Step = (value: unknown, budget: Budget) => readonly unknown[];

/**
 * Parses a JSON path, with or without surrounding braces and a leading `$`. Throws TypeError if the syntax is invalid.
 */
export function parseJsonPath(text: string): JsonPath {
  const steps = parseSteps(text.replace(/^\{(.*)\}$/s, '$1'), text);
  if (steps.length === 0) throw new TypeError(`${text} is not a JSON path`);
  return { find: (value) => findAll(steps, value, { left: limits.jsonPathValuesMax }) };
}

/** `whole` is the text of errors. */
function parseSteps(text: string, whole: string): readonly Step[] {
  const steps: Step[] = [];
  let at = 0;
  while (at < text.length) {
    if (text[at] === '[') {
      const end = endOfBracket(text, at);
      if (end < 0) throw new TypeError(`${whole} is not a JSON path: a bracket is not closed`);
      steps.push(bracketStep(text.slice(at + 1, end), whole));
      at = end + 1;
      continue;
    }
    // The object itself, in filters and in front of a path.
    const skipped = /[ @$]+/y;
    skipped.lastIndex = at;
    if (skipped.test(text)) {
      at = skipped.lastIndex;
      continue;
    }
    const match = /(?<dots>\.\.?)(?<name>(?:\\.|[^\s.,[\]$@{}\\])*)/y;
    match.lastIndex = at;
    const { dots, name } = match.exec(text)?.groups ?? {};
    if (dots === undefined || name === undefined) throw new TypeError(`${whole} is not a JSON path`);
    at = match.lastIndex;
    if (dots === '..') steps.push(withDescendants);
    if (name === '*') steps.push(valuesOf);
    else if (name !== '' || (dots === '.' && text[at] !== '[')) steps.push(memberStep(unescaped(name)));
  }
  return steps;
}

const unescaped = (name: string): string => name.replaceAll(/\\(.)/gs, '$1');

const memberStep =
  (name: string): Step =>
  (value) =>
    memberOf(value, name);

/** The index of the bracket that closes the one at `start`; -1 if none does. Brackets in quotes do not count. */
function endOfBracket(text: string, start: number): number {
  let depth = 0;
  let quote = '';
  for (let at = start; at < text.length; at++) {
    const char = text[at] ?? '';
    if (char === '\\') at++;
    else if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (char === '[') depth++;
    else if (char === ']' && --depth === 0) return at;
  }
  return -1;
}

const quoted = /^(?:'(?<single>(?:\\.|[^'\\])*)'|"(?<double>(?:\\.|[^"\\])*)")$/s;

/** The text in quotes; undefined if it is not in quotes. */
function textIn(text: string): string | undefined {
  const { single, double } = quoted.exec(text)?.groups ?? {};
  const found = single ?? double;
  return found === undefined ? undefined : unescaped(found);
}

function bracketStep(content: string, whole: string): Step {
  if (content.startsWith('?')) return filterStep(content, whole);
  const parts = splitOutsideQuotes(content).map((part) => elementStep(part.trim(), whole));
  const [first] = parts;
  return parts.length === 1 && first ? first : (value, budget) => parts.flatMap((part) => part(value, budget));
}

const splitOutsideQuotes = (text: string): readonly string[] =>
  text.match(/(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^,])+/gs) ?? [''];

/** A name in quotes, `*`, an index or a slice. */
function elementStep(text: string, whole: string): Step {
  const name = textIn(text);
  if (name !== undefined) return memberStep(name);
  if (text === '*') return elementsOf;
  const { index, end, step } = /^(?<index>-?\d*)(?<end>:-?\d*)?(?<step>:\d*)?$/.exec(text)?.groups ?? {};
  if (index === undefined || text === '') throw new TypeError(`${whole} is not a JSON path: ${text} is no index`);
  if (end === undefined) return (value) => arrayOf(value).slice(...indexRange(Number(index)));
  const until = end.slice(1);
  const every = Number(step?.slice(1) || 1);
  if (every === 0) throw new TypeError(`${whole} is not a JSON path: a step of 0`);
  return (value, budget) =>
    elementsOf(value, budget)
      .slice(Number(index), until === '' ? undefined : Number(until))
      .filter((_, at) => at % every === 0);
}

const indexRange = (index: number): [number, number | undefined] => [index, index === -1 ? undefined : index + 1];

const comparison = /^(?<left>[^!<>=]+)(?<operator>[!<>=]+)(?<right>.+)$/s;

function filterStep(content: string, whole: string): Step {
  const condition = /^\?\((?<condition>.*)\)$/s.exec(content)?.groups?.['condition'];
  if (condition === undefined) throw new TypeError(`${whole} is not a JSON path: a filter has no condition`);
  const { left, operator, right } = comparison.exec(condition)?.groups ?? {};
  if (left === undefined || operator === undefined || right === undefined) {
    const exists = parseSteps(condition.trim(), whole);
    return (value, budget) =>
      elementsOf(value, budget).filter((element) => findAll(exists, element, budget).length > 0);
  }
  const compare = comparisons.get(operator);
  if (!compare) throw new TypeError(`${whole} is not a JSON path: ${operator} is no operator`);
  const [before, after] = [operand(left.trim(), whole), operand(right.trim(), whole)];
  return (value, budget) =>
    elementsOf(value, budget).filter((element) => {
      const [a, b] = [before(element, budget), after(element, budget)];
      return a !== undefined && b !== undefined && compare(a, b);
    });
}

const number = /^[+-]?\d+(?:\.\d+)?$/;

/** One side of a comparison: a literal or a path. Undefined where it has no value. */
function operand(text: string, whole: string): (element: unknown, budget: Budget) => unknown {
  const literal = textIn(text) ?? (number.test(text) ? Number(text) : booleans.get(text));
  if (literal !== undefined) return () => literal;
  const steps = parseSteps(text, whole);
  return (element, budget) => findAll(steps, element, budget)[0];
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

type Comparison = (a: unknown, b: unknown) => boolean;

/** Values of different types are not equal, and in no order. */
const ordered =
  (holds: (a: number | string, b: number | string) => boolean): Comparison =>
  (a, b) =>
    (typeof a === 'number' && typeof b === 'number' && holds(a, b)) ||
    (typeof a === 'string' && typeof b === 'string' && holds(a, b));

const comparisons: ReadonlyMap<string, Comparison> = new Map<string, Comparison>([
  ['==', (a, b) => a === b],
  ['!=', (a, b) => a !== b],
  ['<', ordered((a, b) => a < b)],
  ['<=', ordered((a, b) => a <= b)],
  ['>', ordered((a, b) => a > b)],
  ['>=', ordered((a, b) => a >= b)],
]);

function findAll(steps: readonly Step[], value: unknown, budget: Budget): readonly unknown[] {
  let found: readonly unknown[] = [value];
  for (const step of steps) {
    const [only] = found;
    if (found.length === 1) budget.left--;
    found = found.length === 1 ? step(only, budget) : stepAll(step, found, budget);
    if (found.length === 0) return found;
  }
  return found;
}

function stepAll(step: Step, values: readonly unknown[], budget: Budget): readonly unknown[] {
  const found: unknown[] = [];
  for (const value of values) {
    if (budget.left <= 0) break;
    budget.left--;
    for (const each of step(value, budget)) found.push(each);
  }
  return found;
}

function memberOf(value: unknown, name: string): readonly unknown[] {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return [];
  const member = (value as Readonly<Record<string, unknown>>)[name];
  return member === undefined || member === null ? [] : [member];
}

const arrayOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : noValues);

const noValues: readonly unknown[] = [];

const elementsOf: Step = (value, budget) => within(arrayOf(value), budget);

const valuesOf: Step = (value, budget) =>
  typeof value === 'object' && value !== null
    ? within(Array.isArray(value) ? value : Object.values(value), budget)
    : [];

/** As many of the values as may be looked at. */
function within(values: readonly unknown[], budget: Budget): readonly unknown[] {
  const seen = values.length > budget.left ? values.slice(0, Math.max(budget.left, 0)) : values;
  budget.left -= seen.length;
  return seen;
}

/** The value, and all in it that are not empty, each before what is in it. */
const withDescendants: Step = (value, budget) => {
  const found: unknown[] = [];
  const waiting = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const inside = valuesOf(next, budget);
    if (inside.length === 0) continue;
    found.push(next);
    for (let at = inside.length - 1; at >= 0; at--) waiting.push(inside[at]);
  }
  return found;
};
