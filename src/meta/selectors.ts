import { limits } from '../base/limits.ts';
import { badRequest } from './status-error.ts';

/**
 * Label selectors (equality- and set-based) and field selectors, as in the query parameters `labelSelector` and
 * `fieldSelector`. A selector is the conjunction of its requirements; an empty one selects everything.
 */
export type Requirement =
  | { readonly operator: 'in' | 'notin'; readonly key: string; readonly values: Values }
  | { readonly operator: 'exists' | 'absent'; readonly key: string }
  | { readonly operator: 'gt' | 'lt'; readonly key: string; readonly bound: bigint };

export type Selector = readonly Requirement[];

/** The part of a set of texts that selectors need. */
type Values = Iterable<string> & Pick<ReadonlySet<string>, 'size' | 'has'>;

/** A set of one text. Selectors may have very many, and a `Set` takes ten times as long to make. */
export class OneValue implements Values {
  readonly size = 1;
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  has(value: string): boolean {
    return value === this.#value;
  }

  [Symbol.iterator](): Iterator<string> {
    return [this.#value].values();
  }
}

/** Whether every requirement holds. `value` returns the value of a key, or undefined if the object has none. */
export function matches(selector: Selector, value: (key: string) => string | undefined): boolean {
  for (const requirement of selector) if (!holds(requirement, value(requirement.key))) return false;
  return true;
}

function holds(requirement: Requirement, value: string | undefined): boolean {
  switch (requirement.operator) {
    case 'in':
      return value !== undefined && requirement.values.has(value);
    case 'notin':
      return value === undefined || !requirement.values.has(value);
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case 'gt':
      return value !== undefined && isInteger(value) && BigInt(value) > requirement.bound;
    case 'lt':
      return value !== undefined && isInteger(value) && BigInt(value) < requirement.bound;
  }
}

const isInteger = (text: string): boolean => /^[+-]?\d{1,19}$/.test(text);

/**
 * Parses a label selector: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, `a>1`, `a<1`, joined by
 * commas. `checkKey` and `checkValue` return the problems of a key or value. Throws a BadRequest.
 */
export function parseLabelSelector(
  text: string,
  checkKey: (key: string) => readonly string[],
  checkValue: (value: string) => readonly string[],
): Selector {
  const parser = new LabelSelectorParser(boundedText(text, 'label'));
  const selector = parser.selector();
  for (const requirement of selector) {
    const { key } = requirement;
    const values = 'values' in requirement ? [...requirement.values].sort() : [];
    refuse(parser, '<nil>', key, checkKey(key));
    for (const [index, value] of values.entries()) refuse(parser, `values[${index}][${key}]`, value, checkValue(value));
  }
  return selector;
}

/** Throws if there are problems. `path` is that of kube-apiserver. */
function refuse(parser: LabelSelectorParser, path: string, value: string, problems: readonly string[]): void {
  if (problems.length > 0)
    throw parser.error(`${path}: Invalid value: ${JSON.stringify(value)}: ${problems.join('; ')}`);
}

const isOperator = (token: string | undefined): boolean => token === undefined || /^[(),<>!=]/.test(token);

function boundedText(text: string, what: string): string {
  if (text.length > limits.selectorBytesMax) {
    throw badRequest(`the ${what} selector is longer than ${limits.selectorBytesMax} characters`);
  }
  return text;
}

/** Tokens are words and the operators `( ) , ! = == != < >`. Whitespace only separates tokens. */
class LabelSelectorParser {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = text.match(/[(),<>]|!=|==|=|!|[^\s(),<>!=]+/g) ?? [];
  }

  error(why: string): Error {
    return badRequest(`unable to parse requirement: ${why}`);
  }

  selector(): Selector {
    const requirements: Requirement[] = [];
    if (this.#tokens.length === 0) return requirements;
    for (;;) {
      const token = this.#peek();
      if (requirements.length === 0 && token !== '!' && isOperator(token)) {
        throw badRequest(`found '${token}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.#requirement());
      if (requirements.length > limits.selectorRequirementsMax) {
        throw this.error(`more than ${limits.selectorRequirementsMax} requirements`);
      }
      const separator = this.#next();
      if (separator === undefined) return requirements;
      if (separator !== ',') throw badRequest(`found '${separator}', expected: ',' or 'end of string'`);
      const after = this.#peek();
      if (after !== '!' && isOperator(after))
        throw badRequest(`found '${after ?? ''}', expected: identifier after ','`);
    }
  }

  #next(): string | undefined {
    return this.#tokens[this.#at++];
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  #word(expected: string): string {
    const token = this.#next();
    if (token === undefined || isOperator(token)) throw this.error(`found '${token ?? ''}', expected: ${expected}`);
    return token;
  }

  #requirement(): Requirement {
    if (this.#peek() === '!') {
      this.#at++;
      return { operator: 'absent', key: this.#word('identifier') };
    }
    const key = this.#word('identifier');
    const operator = this.#peek();
    if (operator === undefined || operator === ',') return { operator: 'exists', key };
    this.#at++;
    switch (operator) {
      case '=':
      case '==':
        return { operator: 'in', key, values: new Set([this.#exactValue()]) };
      case '!=':
        return { operator: 'notin', key, values: new Set([this.#exactValue()]) };
      case 'in':
      case 'notin':
        return { operator, key, values: this.#valueSet() };
      case '>':
        return { operator: 'gt', key, bound: this.#integer() };
      case '<':
        return { operator: 'lt', key, bound: this.#integer() };
      default:
        throw this.error(`found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
    }
  }

  /** The value may be empty: `a=`. */
  #exactValue(): string {
    const token = this.#peek();
    return token === undefined || token === ',' ? '' : this.#word('identifier');
  }

  #integer(): bigint {
    const word = this.#word('identifier');
    if (!isInteger(word))
      throw this.error(
        `values[0]: Invalid value: ${JSON.stringify(word)}: for 'Gt', 'Lt' operators, the value must be an integer`,
      );
    return BigInt(word);
  }

  #valueSet(): Values {
    const values = new Set<string>();
    const opening = this.#next() ?? '';
    if (opening !== '(') throw this.error(`found '${opening}' expected: '('`);
    for (;;) {
      values.add(this.#peek() === ',' || this.#peek() === ')' ? '' : this.#word("',', ')' or identifier"));
      const token = this.#next();
      if (token === ')') return values;
      if (token !== ',') throw this.error(`found '${token ?? ''}', expected: ',' or ')'`);
    }
  }
}

/** Parses a field selector: `a=b`, `a==b`, `a!=b`, joined by commas; `\` escapes `,`, `=` and itself in values. */
export function parseFieldSelector(text: string): Selector {
  const requirements: Requirement[] = [];
  for (const part of splitUnescaped(boundedText(text, 'field'))) {
    if (part === '') continue;
    const match = /^([^=!]*)(!=|==|=)(.*)$/s.exec(part);
    if (!match) {
      throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
    }
    const [, key = '', operator, value = ''] = match;
    requirements.push({
      operator: operator === '!=' ? 'notin' : 'in',
      key: key.trim(),
      values: new Set([unescapeValue(value)]),
    });
    if (requirements.length > limits.selectorRequirementsMax) {
      throw badRequest(`the field selector has more than ${limits.selectorRequirementsMax} requirements`);
    }
  }
  return requirements;
}

function splitUnescaped(text: string): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === ',') {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

/** What is wrong first. Characters are shown by their numbers, as in kube-apiserver. */
function valueProblem(value: string): string {
  const wrong = /^(?:[^\\=]|\\[\\,=])*(=|\\.?)/.exec(value)?.[1] ?? '';
  return wrong === '=' ? 'unescaped character in value: 61' : `invalid escape sequence: ${wrong}`;
}

function unescapeValue(value: string): string {
  if (!/^(?:[^\\=]|\\[\\,=])*$/.test(value)) {
    throw badRequest(`invalid field selector: ${valueProblem(value)}`);
  }
  return value.replace(/\\([\\,=])/g, '$1');
}

/** The single value that `key` must have for the selector to match, if any. Lets a list read only one key. */
export function requiredValue(selector: Selector, key: string): string | undefined {
  for (const requirement of selector) {
    if (requirement.key === key && requirement.operator === 'in' && requirement.values.size === 1) {
      for (const value of requirement.values) return value;
    }
  }
  return undefined;
}
