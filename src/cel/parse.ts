import { limits } from '../base/limits.ts';
import type { Steps } from '../base/time/in-slices.ts';
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

/** Operators with two operands, besides those of logic. Those of a higher number come first. */
const precedences: ReadonlyMap<string, number> = new Map([
  ...['<', '<=', '>=', '>', '==', '!=', 'in'].map((text) => [text, 1] as const),
  ...['+', '-'].map((text) => [text, 2] as const),
  ...['*', '/', '%'].map((text) => [text, 3] as const),
]);

/** Above all precedences. */
const anyPrecedence = 4;
/** Signs after an expression. */
const ends: ReadonlySet<string> = new Set([',', ')', ']', '}', ':']);
/** Signs after an operand that are part of it. */
const continuations: ReadonlySet<string> = new Set(['.', '(', '[', '{']);

/**
 * Parses a source: langdef, "Syntax", with optional selection (`a.?b`, `a[?b]`). Throws CelCompileError with the
 * position of a syntax error, and for sources that are too long or nested too deeply. There are pauses in a long source.
 */
export function* parseInSteps(source: string): Steps<Expr> {
  if (source.length > limits.celSourceLengthMax) {
    throw new CelCompileError(`longer than ${limits.celSourceLengthMax} characters`);
  }
  return yield* new Parser(source, yield* tokenize(source)).parse();
}

class Parser {
  readonly #source: string;
  readonly #tokens: readonly Token[];
  readonly #depths = new WeakMap<Expr, number>();
  #next = 0;
  #nesting = 0;
  /** Expressions, and parts of one without brackets, up to now. */
  #expressions = 0;

  constructor(source: string, tokens: readonly Token[]) {
    this.#source = source;
    this.#tokens = tokens;
  }

  *parse(): Steps<Expr> {
    const expr = yield* this.#expression();
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

  /** Begins a nested expression; the depth limit bounds the JavaScript stack. */
  #nest(): void {
    if (++this.#nesting > limits.celDepthMax) throw this.#tooDeep(this.#token.at);
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

  *#expression(): Steps<Expr> {
    if (++this.#expressions % limits.celPartsPerStep === 0) yield;
    this.#nest();
    const condition = yield* this.#or();
    const expr = this.#isSign('?') ? yield* this.#conditional(condition) : condition;
    this.#nesting--;
    return expr;
  }

  /** A literal or a name that is an expression by itself. */
  #single(): Expr | undefined {
    const after = this.#tokens[this.#next + 1];
    const isSingle = after !== undefined && ends.has(after.text) && this.#nesting < limits.celDepthMax;
    return isSingle ? this.#lone(anyPrecedence) : undefined;
  }

  *#conditional(condition: Expr): Steps<Expr> {
    const { at } = this.#token;
    this.#expect('?');
    const yes = yield* this.#or();
    this.#expect(':');
    const no = yield* this.#expression();
    return this.#node({ kind: 'conditional', at, condition, yes, no }, [condition, yes, no]);
  }

  *#or(): Steps<Expr> {
    const { at } = this.#token;
    const first = yield* this.#and();
    if (!this.#isSign('||')) return first;
    const terms = [first];
    while (this.#take('||')) terms.push(yield* this.#and());
    return this.#node({ kind: 'logic', at, operator: '||', terms }, terms);
  }

  *#and(): Steps<Expr> {
    const { at } = this.#token;
    const first = yield* this.#operation(1);
    if (!this.#isSign('&&')) return first;
    const terms = [first];
    while (this.#take('&&')) terms.push(yield* this.#operation(1));
    return this.#node({ kind: 'logic', at, operator: '&&', terms }, terms);
  }

  /** Operators of at least this precedence. Those of the same one are left-associative. */
  *#operation(least: number): Steps<Expr> {
    if (++this.#expressions % limits.celPartsPerStep === 0) yield;
    let left = this.#lone(anyPrecedence) ?? (yield* this.#unary());
    for (;;) {
      const { at, text, kind } = this.#token;
      const precedence = kind === 'sign' || kind === 'ident' ? (precedences.get(text) ?? 0) : 0;
      if (precedence < least) return left;
      this.#next++;
      const right = this.#lone(precedence) ?? (yield* this.#operation(precedence + 1));
      left = this.#operator(at, `_${text}_`, [left, right]);
    }
  }

  /**
   * A literal or a name, if nothing of it follows, nor an operator that comes before those of the precedence. Most operands
   * are: this is faster than in steps.
   */
  #lone(precedence: number): Expr | undefined {
    const { kind } = this.#token;
    const after = this.#tokens[this.#next + 1];
    if (kind === 'sign' || kind === 'end' || after === undefined) return undefined;
    if (continuations.has(after.text) || (precedences.get(after.text) ?? 0) > precedence) return undefined;
    return this.#leaf('');
  }

  #operator(at: number, name: string, args: readonly Expr[]): Expr {
    return this.#node({ kind: 'call', at, name, target: undefined, args }, args);
  }

  *#unary(): Steps<Expr> {
    const { at, text, kind } = this.#token;
    if (kind !== 'sign' || (text !== '!' && text !== '-')) return yield* this.#member('');
    this.#next++;
    if (text === '-' && this.#isNumber()) return yield* this.#member('-');
    this.#nest();
    const expr = this.#operator(at, `${text}_`, [yield* this.#unary()]);
    this.#nesting--;
    return expr;
  }

  #isNumber(): boolean {
    return this.#token.kind === 'int' || this.#token.kind === 'double';
  }

  /** `minus` precedes a number literal at the start of the member. */
  *#member(minus: '-' | ''): Steps<Expr> {
    let expr = yield* this.#primary(minus);
    for (;;) {
      const at = this.#token.at;
      if (this.#take('.')) {
        const optional = this.#take('?');
        const field = this.#word(keywords);
        const open = this.#token.at;
        if (!optional && this.#take('(')) expr = yield* this.#call(open, field, expr);
        else
          expr = this.#node({ kind: 'select', at, operand: expr, field, mode: optional ? 'optional' : 'plain' }, [
            expr,
          ]);
      } else if (this.#take('[')) {
        const optional = this.#take('?');
        const index = yield* this.#expression();
        this.#expect(']');
        expr = this.#node({ kind: 'index', at, operand: expr, index, optional }, [expr, index]);
      } else {
        const typeName = this.#isSign('{') ? qualifiedName(expr) : undefined;
        if (typeName === undefined) return expr;
        expr = yield* this.#construction(typeName);
      }
    }
  }

  *#construction(typeName: string): Steps<Expr> {
    const at = this.#token.at;
    this.#expect('{');
    const fields = yield* this.#items('}', () => this.#fieldValue());
    const values = fields.map(({ value }) => value);
    return this.#node({ kind: 'construction', at, typeName, fields }, values);
  }

  *#fieldValue(): Steps<Construction['fields'][number]> {
    const optional = this.#take('?');
    const { at } = this.#token;
    const name = this.#word(keywords);
    this.#expect(':');
    return { name, at, value: yield* this.#expression(), optional };
  }

  #word(excluded: ReadonlySet<string>): string {
    const { kind, text } = this.#token;
    if (kind !== 'ident') throw this.#unexpected('a name');
    if (excluded.has(text)) throw errorAt(this.#source, this.#token.at, `reserved identifier: ${text}`);
    this.#next++;
    return text;
  }

  /** `at` is the offset of the parenthesis. */
  *#call(at: number, name: string, target: Expr | undefined): Steps<Expr> {
    const args: Expr[] = [];
    while (!this.#isSign(')')) {
      if (++this.#expressions % limits.celPartsPerStep === 0) yield;
      args.push(this.#single() ?? (yield* this.#expression()));
      if (!this.#take(',')) break;
      if (this.#isSign(')')) throw this.#unexpected('an argument');
    }
    this.#expect(')');
    const call = { kind: 'call', at, name, target, args } as const;
    const expanded = expandMacro(call, (position, reason) => errorAt(this.#source, position, reason));
    return this.#node(expanded ?? call, target === undefined ? args : [target, ...args]);
  }

  *#primary(minus: '-' | ''): Steps<Expr> {
    const { kind } = this.#token;
    if (kind === 'sign') return yield* this.#enclosed();
    return kind === 'ident' ? yield* this.#named() : this.#leaf(minus);
  }

  /** A literal or a name. */
  #leaf(minus: '-' | ''): Expr {
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
      default:
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

  #name(): Extract<Expr, { kind: 'literal' | 'ident' }> {
    const { at, text } = this.#token;
    if (text === 'true' || text === 'false' || text === 'null') {
      this.#next++;
      return { kind: 'literal', at, value: text === 'null' ? null : text === 'true' };
    }
    return { kind: 'ident', at, name: this.#word(reserved) };
  }

  /** A name, or a call of a function. */
  *#named(): Steps<Expr> {
    const name = this.#name();
    const open = this.#token.at;
    return name.kind === 'ident' && this.#take('(') ? yield* this.#call(open, name.name, undefined) : name;
  }

  *#enclosed(): Steps<Expr> {
    const at = this.#token.at;
    if (this.#take('(')) {
      const expr = yield* this.#expression();
      this.#expect(')');
      return expr;
    }
    if (this.#take('[')) {
      const elements = yield* this.#items(']', () => this.#element());
      const values = elements.map((element) => element.value);
      return this.#node({ kind: 'list', at, elements }, values);
    }
    if (this.#take('{')) {
      const entries = yield* this.#items('}', () => this.#entry());
      const parts = entries.flatMap((entry) => [entry.key, entry.value]);
      return this.#node({ kind: 'map', at, entries }, parts);
    }
    // A leading dot names a variable of the environment, even inside a macro with a variable of the same name; the
    // environments here have no such names.
    if (this.#take('.')) return yield* this.#named();
    throw this.#unexpected();
  }

  *#items<T>(end: string, read: () => Steps<T>): Steps<T[]> {
    const items: T[] = [];
    while (!this.#isSign(end)) {
      if (++this.#expressions % limits.celPartsPerStep === 0) yield;
      items.push(yield* read());
      if (!this.#take(',')) break;
    }
    this.#expect(end);
    return items;
  }

  *#element(): Steps<Element> {
    const optional = this.#take('?');
    return { value: this.#single() ?? (yield* this.#expression()), optional };
  }

  *#entry(): Steps<Entry> {
    const optional = this.#take('?');
    const key = this.#single() ?? (yield* this.#expression());
    this.#expect(':');
    return { key, value: this.#single() ?? (yield* this.#expression()), optional };
  }
}

/** The name that identifiers joined by dots are. */
function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.mode !== 'plain') return undefined;
  const name = qualifiedName(expr.operand);
  return name === undefined ? undefined : `${name}.${expr.field}`;
}
