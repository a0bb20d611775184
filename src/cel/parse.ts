import { limits } from '../base/limits.ts';
import { allAtOnce, type Steps } from '../base/time/in-slices.ts';
import { CelCompileError } from './error.ts';
import { errorAt, type Token, tokenize } from './lexer.ts';
import { expandMacro } from './macros.ts';
import type { Construction, Element, Entry, Expr } from './syntax.ts';
import { CelUint, intMax, intMin } from './value.ts';

/** Identifiers that cannot name a variable or function: langdef, "Syntax". */
const reserved = new Set(
  (
    'as break const continue else for function if import let loop package namespace return var void while ' +
    'true false null in'
  ).split(' '),
);
/** Identifiers that cannot name a field either. */
const keywords = new Set(['true', 'false', 'null', 'in']);

const relations = new Set(['<', '<=', '>=', '>', '==', '!=', 'in']);
const sums = new Set(['+', '-']);
const products = new Set(['*', '/', '%']);

/**
 * Parses a source: langdef, "Syntax", with optional selection (`a.?b`, `a[?b]`). Throws CelCompileError with the
 * position of a syntax error, and for sources that are too long or nested too deeply.
 */
export const parse = (source: string): Expr => allAtOnce(parseInSteps(source));

/** As `parse`, of a long source with a pause for whoever iterates. */
export function* parseInSteps(source: string): Steps<Expr> {
  if (source.length > limits.celSourceLengthMax) {
    throw new CelCompileError(`longer than ${limits.celSourceLengthMax} characters`);
  }
  const parser = new Parser(source);
  if (source.length > limits.inlineRuleLength) yield;
  return parser.parse();
}

class Parser {
  readonly #source: string;
  readonly #tokens: readonly Token[];
  readonly #depths = new WeakMap<Expr, number>();
  #next = 0;
  #nesting = 0;

  constructor(source: string) {
    this.#source = source;
    this.#tokens = tokenize(source);
  }

  parse(): Expr {
    const expr = this.#expression();
    if (this.#token.kind !== 'end') throw this.#unexpected();
    return expr;
  }

  get #token(): Token {
    return this.#tokens[this.#next] ?? { kind: 'end', at: this.#source.length, text: '' };
  }

  #isSign(text: string): boolean {
    return this.#token.kind === 'sign' && this.#token.text === text;
  }

  #take(text: string): boolean {
    if (!this.#isSign(text)) return false;
    this.#next++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw this.#unexpected(`'${text}'`);
  }

  #unexpected(wanted?: string): CelCompileError {
    const { kind, at, text } = this.#token;
    const found = kind === 'end' ? 'the end' : JSON.stringify(text.slice(0, 32));
    return errorAt(this.#source, at, `unexpected ${found}${wanted === undefined ? '' : `, expected ${wanted}`}`);
  }

  /** Runs a parser of a nested expression; the depth limit bounds the JavaScript stack. */
  #nested<T>(read: () => T): T {
    if (++this.#nesting > limits.celDepthMax) throw this.#tooDeep(this.#token.at);
    const result = read();
    this.#nesting--;
    return result;
  }

  #tooDeep(at: number): CelCompileError {
    return errorAt(this.#source, at, `nested deeper than ${limits.celDepthMax}`);
  }

  /** Tracks the depth of the resulting tree: chains such as `a + a + a` are deep without being nested. */
  #node<E extends Expr>(expr: E, children: readonly Expr[]): E {
    const depth = 1 + children.reduce((most, child) => Math.max(most, this.#depths.get(child) ?? 1), 0);
    if (depth > limits.celDepthMax) throw this.#tooDeep(expr.at);
    this.#depths.set(expr, depth);
    return expr;
  }

  #expression(): Expr {
    return this.#nested(() => {
      const condition = this.#or();
      const at = this.#token.at;
      if (!this.#take('?')) return condition;
      const yes = this.#or();
      this.#expect(':');
      const no = this.#expression();
      return this.#node({ kind: 'conditional', at, condition, yes, no }, [condition, yes, no]);
    });
  }

  #or(): Expr {
    return this.#logic('||', () => this.#logic('&&', () => this.#relation()));
  }

  #logic(operator: '&&' | '||', read: () => Expr): Expr {
    const at = this.#token.at;
    const first = read();
    if (!this.#isSign(operator)) return first;
    const terms = [first];
    while (this.#take(operator)) terms.push(read());
    return this.#node({ kind: 'logic', at, operator, terms }, terms);
  }

  #relation(): Expr {
    return this.#chain(relations, () => this.#chain(sums, () => this.#chain(products, () => this.#unary())));
  }

  /** Operators of one precedence, left-associative. */
  #chain(operators: ReadonlySet<string>, read: () => Expr): Expr {
    let left = read();
    while (operators.has(this.#token.text) && (this.#token.kind === 'sign' || this.#token.kind === 'ident')) {
      const { at, text } = this.#token;
      this.#next++;
      left = this.#operator(at, `_${text}_`, [left, read()]);
    }
    return left;
  }

  #operator(at: number, name: string, args: readonly Expr[]): Expr {
    return this.#node({ kind: 'call', at, name, target: undefined, args }, args);
  }

  #unary(): Expr {
    const { at, text, kind } = this.#token;
    if (kind !== 'sign' || (text !== '!' && text !== '-')) return this.#member();
    this.#next++;
    if (text === '-' && this.#isNumber()) return this.#member('-');
    return this.#nested(() => this.#operator(at, `${text}_`, [this.#unary()]));
  }

  #isNumber(): boolean {
    return this.#token.kind === 'int' || this.#token.kind === 'double';
  }

  /** `minus` precedes a number literal at the start of the member. */
  #member(minus: '-' | '' = ''): Expr {
    let expr = this.#primary(minus);
    for (;;) {
      const at = this.#token.at;
      if (this.#take('.')) expr = this.#selection(expr, at);
      else if (this.#take('[')) {
        const optional = this.#take('?');
        const index = this.#expression();
        this.#expect(']');
        expr = this.#node({ kind: 'index', at, operand: expr, index, optional }, [expr, index]);
      } else {
        const typeName = this.#isSign('{') ? qualifiedName(expr) : undefined;
        if (typeName === undefined) return expr;
        expr = this.#construction(typeName);
      }
    }
  }

  #construction(typeName: string): Expr {
    const at = this.#token.at;
    this.#expect('{');
    const fields = this.#items('}', () => this.#fieldValue());
    const values = fields.map(({ value }) => value);
    return this.#node({ kind: 'construction', at, typeName, fields }, values);
  }

  #fieldValue(): Construction['fields'][number] {
    const optional = this.#take('?');
    const { at } = this.#token;
    const name = this.#word(keywords);
    this.#expect(':');
    return { name, at, value: this.#expression(), optional };
  }

  /** `at` is the offset of the dot. */
  #selection(operand: Expr, at: number): Expr {
    const optional = this.#take('?');
    const field = this.#word(keywords);
    const open = this.#token.at;
    if (!optional && this.#take('(')) return this.#call(open, field, operand);
    return this.#node({ kind: 'select', at, operand, field, mode: optional ? 'optional' : 'plain' }, [operand]);
  }

  #word(excluded: ReadonlySet<string>): string {
    const { kind, text } = this.#token;
    if (kind !== 'ident') throw this.#unexpected('a name');
    if (excluded.has(text)) throw errorAt(this.#source, this.#token.at, `reserved identifier: ${text}`);
    this.#next++;
    return text;
  }

  /** `at` is the offset of the parenthesis. */
  #call(at: number, name: string, target: Expr | undefined): Expr {
    const args: Expr[] = [];
    while (!this.#isSign(')')) {
      args.push(this.#expression());
      if (!this.#take(',')) break;
      if (this.#isSign(')')) throw this.#unexpected('an argument');
    }
    this.#expect(')');
    const call = { kind: 'call', at, name, target, args } as const;
    const expanded = expandMacro(call, (position, reason) => errorAt(this.#source, position, reason));
    return this.#node(expanded ?? call, target === undefined ? args : [target, ...args]);
  }

  #primary(minus: '-' | ''): Expr {
    const token = this.#token;
    switch (token.kind) {
      case 'int':
      case 'uint':
      case 'double':
        this.#next++;
        return this.#number(token, minus);
      case 'string':
        this.#next++;
        return { kind: 'literal', at: token.at, value: token.literal.value };
      case 'ident':
        return this.#name();
      case 'sign':
        return this.#enclosed();
      case 'end':
        throw this.#unexpected();
    }
  }

  #number(token: Token, minus: '-' | ''): Expr {
    const { text, kind } = token;
    const { at } = minus === '-' ? (this.#tokens[this.#next - 2] ?? token) : token;
    const wrong = (): CelCompileError => errorAt(this.#source, at, `invalid ${kind} literal`);
    if (kind === 'double') {
      const value = Number(minus + text);
      if (!Number.isFinite(value)) throw wrong();
      return { kind: 'literal', at, value };
    }
    if (kind === 'uint') {
      const value = BigInt(text.slice(0, -1));
      if (value >= 2n ** 64n) throw wrong();
      return { kind: 'literal', at, value: new CelUint(value) };
    }
    const value = minus === '-' ? -BigInt(text) : BigInt(text);
    if (value < intMin || value > intMax) throw wrong();
    return { kind: 'literal', at, value };
  }

  #name(): Expr {
    const { at, text } = this.#token;
    if (text === 'true' || text === 'false' || text === 'null') {
      this.#next++;
      return { kind: 'literal', at, value: text === 'null' ? null : text === 'true' };
    }
    const name = this.#word(reserved);
    const open = this.#token.at;
    if (this.#take('(')) return this.#call(open, name, undefined);
    return { kind: 'ident', at, name };
  }

  #enclosed(): Expr {
    const at = this.#token.at;
    if (this.#take('(')) {
      const expr = this.#expression();
      this.#expect(')');
      return expr;
    }
    if (this.#take('[')) {
      const elements = this.#items(']', () => this.#element());
      const values = elements.map((element) => element.value);
      return this.#node({ kind: 'list', at, elements }, values);
    }
    if (this.#take('{')) {
      const entries = this.#items('}', () => this.#entry());
      const parts = entries.flatMap((entry) => [entry.key, entry.value]);
      return this.#node({ kind: 'map', at, entries }, parts);
    }
    // A leading dot names a variable of the environment, even inside a macro with a variable of the same name; the
    // environments here have no such names.
    if (this.#take('.')) return this.#name();
    throw this.#unexpected();
  }

  #items<T>(end: string, read: () => T): T[] {
    const items: T[] = [];
    while (!this.#isSign(end)) {
      items.push(read());
      if (!this.#take(',')) break;
    }
    this.#expect(end);
    return items;
  }

  #element(): Element {
    const optional = this.#take('?');
    return { value: this.#expression(), optional };
  }

  #entry(): Entry {
    const optional = this.#take('?');
    const key = this.#expression();
    this.#expect(':');
    return { key, value: this.#expression(), optional };
  }
}

/** The name that identifiers joined by dots are. */
function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.mode !== 'plain') return undefined;
  const name = qualifiedName(expr.operand);
  return name === undefined ? undefined : `${name}.${expr.field}`;
}
