import { limits } from '../base/limits.ts';
import type { Steps } from '../base/time/in-slices.ts';
import { Bindings } from './bindings.ts';
import type { CelConstructor, CelEnvironment, CelExtension } from './cel.ts';
import { Complaints } from './complaints.ts';
import { functions } from './library/functions.ts';
import { cidrTypeName, ipTypeName } from './library/networks.ts';
import { validateLiterals } from './literals.ts';
import type { Overload } from './overload.ts';
import type {
  Call,
  Conditional,
  Construction,
  Element,
  Entry,
  Expr,
  Fold,
  Index,
  OptionalMap,
  Select,
} from './syntax.ts';
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  dynType,
  errorType,
  intType,
  listType,
  mapType,
  nullType,
  optionalType,
  stringType,
  typeName,
  typeType,
  uintType,
} from './type.ts';
import { CelUint, type CelValue } from './value.ts';

/** The result of type checking. */
export interface Checked {
  readonly type: CelType;
  /** The static type of a part. */
  typeOf(expr: Expr): CelType;
  /** The candidate signatures of a call; the arguments select one at evaluation. */
  overloadsOf(call: Call): readonly Overload[];
  /** True if the target of a call is the first part of a qualified function name: `sets.contains(a, b)`. */
  isQualified(call: Call): boolean;
  /** The name, if the selection is that of a type: `net.IP`. */
  typeNamed(expr: Select): string | undefined;
  /** The variable with a qualified name that a selection is: `authorizer.requestResource`. */
  variableOf(select: Select): string | undefined;
  constructorOf(construction: Construction): CelConstructor | undefined;
}

/** Names of types, which are also values: `type(claims.x) == string`. */
export const typeNames: ReadonlySet<string> = new Set(
  'bool int uint double string bytes list map null_type type optional_type'.split(' '),
);

/** Those whose names look like the selection of a field. */
const qualifiedTypeNames: ReadonlySet<string> = new Set([ipTypeName, cidrTypeName]);

/**
 * Checks an expression against the types of its variables (langdef, "Gradual Type Checking"). Throws CelCompileError, of
 * all that is wrong, for undeclared names and calls without a matching function; if there are none, for wrong literals and
 * for lists or maps of mixed types, which kube-apiserver rejects too. There are pauses in the work on a long expression.
 */
export function* check(
  expr: Expr,
  source: string,
  environment: CelEnvironment,
  extension?: CelExtension,
): Steps<Checked> {
  const checker = new Checker(source, environment, extension);
  const type = yield* checker.check(expr);
  return {
    type,
    typeOf: (part) => checker.typeOf(part),
    overloadsOf: (call) => checker.overloads.get(call) ?? [],
    isQualified: (call) => checker.qualified.has(call),
    typeNamed: (select) => checker.namedTypes.get(select),
    variableOf: (select) => checker.qualifiedVariables.get(select),
    constructorOf: (construction) => checker.constructors.get(construction),
  };
}

/** A macro variable, and the enclosing scopes. */
interface Scope {
  readonly name: string;
  readonly type: CelType;
  readonly around: Scope | undefined;
}

class Checker {
  readonly overloads = new Map<Call, readonly Overload[]>();
  readonly qualified = new Set<Call>();
  readonly namedTypes = new Map<Select, string>();
  readonly qualifiedVariables = new Map<Expr, string>();
  readonly constructors = new Map<Construction, CelConstructor>();
  readonly #types = new Map<Expr, CelType>();
  readonly #source: string;
  readonly #environment: CelEnvironment;
  readonly #extension: CelExtension | undefined;
  readonly #bindings = new Bindings();
  #scope: Scope | undefined;
  /** Within the arguments of `format`, where lists may mix types. */
  #mixed = false;
  readonly #errors = new Complaints();
  /** What is of the right type, and wrong nevertheless. */
  readonly #invalid = new Complaints();
  /** Parts looked at up to now; and work done when there was a pause. */
  #looked = 0;
  #pausedAt = 0;

  constructor(source: string, environment: CelEnvironment, extension: CelExtension | undefined) {
    this.#source = source;
    this.#environment = environment;
    this.#extension = extension;
  }

  *check(expr: Expr): Steps<CelType> {
    const type = this.#bindings.finalize(yield* this.#typeOf(expr));
    this.#errors.throw(this.#source);
    this.#invalid.throw(this.#source);
    return type;
  }

  /** The type of what has an error. */
  #wrong(at: number, reason: string): CelType {
    this.#errors.add(at, reason);
    return errorType;
  }

  #name(type: CelType): string {
    return typeName(this.#bindings.finalize(type));
  }

  /** Of an expression that was checked. */
  typeOf(expr: Expr): CelType {
    return this.#bindings.finalize(this.#types.get(expr) ?? dynType);
  }

  *#typeOf(expr: Expr): Steps<CelType> {
    if (this.#isPauseDue()) yield;
    const type = this.#simple(expr) ?? (yield* this.#typeOfKind(expr));
    this.#types.set(expr, type);
    return type;
  }

  /** Of literals, names and fields of those, which most parts are: faster than in steps. */
  #simple(expr: Expr): CelType | undefined {
    const type = this.#typeOfSimple(expr);
    if (type === undefined) return undefined;
    this.#looked++;
    this.#types.set(expr, type);
    return type;
  }

  #typeOfSimple(expr: Expr): CelType | undefined {
    switch (expr.kind) {
      case 'literal':
        return literalType(expr.value);
      case 'ident':
        return this.#ident(expr, expr.name);
      case 'select': {
        const named = this.#named(expr);
        if (named) return named;
        const operand = this.#simple(expr.operand);
        return operand && this.#selected(expr, operand);
      }
      default:
        return undefined;
    }
  }

  #isPauseDue(): boolean {
    // A part of a type takes less time than a part of the expression.
    const done = ++this.#looked + this.#bindings.work / 8;
    if (done - this.#pausedAt < limits.celPartsPerStep) return false;
    this.#pausedAt = done;
    return true;
  }

  *#typeOfKind(expr: Expr): Steps<CelType> {
    switch (expr.kind) {
      case 'literal':
      case 'ident':
        throw new TypeError(`not checked: ${expr.kind}`);
      case 'select':
        return this.#selected(expr, yield* this.#typeOf(expr.operand));
      case 'index':
        return yield* this.#index(expr);
      case 'call':
        return yield* this.#call(expr);
      case 'list':
        return listType(yield* this.#elements(expr.elements));
      case 'map':
        return yield* this.#map(expr.entries);
      case 'construction':
        return yield* this.#construction(expr);
      case 'logic':
        for (const term of expr.terms) yield* this.#expect(boolType, term);
        return boolType;
      case 'conditional':
        return yield* this.#conditional(expr);
      case 'fold':
        return yield* this.#fold(expr);
      case 'optionalMap':
        return yield* this.#optionalMap(expr);
    }
  }

  #ident(expr: Expr, name: string): CelType {
    const type = this.#lookUp(name);
    if (type !== undefined) return type;
    if (typeNames.has(name)) return typeType;
    return this.#wrong(expr.at, `undeclared reference to '${name}'`);
  }

  #lookUp(name: string): CelType | undefined {
    for (let scope = this.#scope; scope !== undefined; scope = scope.around) if (scope.name === name) return scope.type;
    return Object.hasOwn(this.#environment, name) ? this.#environment[name] : undefined;
  }

  /** The type of the expression, which must be assignable to `type`. */
  *#expect(type: CelType, expr: Expr): Steps<CelType> {
    return this.#assignable(type, yield* this.#typeOf(expr), expr);
  }

  #assignable(type: CelType, actual: CelType, expr: Expr): CelType {
    if (this.#bindings.assign(type, actual)) return actual;
    return this.#wrong(expr.at, `expected type '${this.#name(type)}' but found '${this.#name(actual)}'`);
  }

  /** The type of a selection that is a name. */
  #named(expr: Select): CelType | undefined {
    return this.#namesType(expr) ? typeType : this.#qualifiedVariable(expr);
  }

  #selected(expr: Select, type: CelType): CelType {
    const operand = this.#bindings.resolve(type);
    const inner = operand.kind === 'optional' ? this.#bindings.resolve(operand.value) : operand;
    const field = this.#field(expr, inner);
    if (expr.mode === 'test') return boolType;
    return operand.kind === 'optional' || expr.mode === 'optional' ? optionalType(field) : field;
  }

  /** Whether the selection is the name of a type. A variable comes before it. */
  #namesType(expr: Select): boolean {
    const { operand, field, mode } = expr;
    if (operand.kind !== 'ident' || mode !== 'plain' || this.#lookUp(operand.name) !== undefined) return false;
    const name = `${operand.name}.${field}`;
    if (!qualifiedTypeNames.has(name)) return false;
    this.namedTypes.set(expr, name);
    return true;
  }

  /** The type of the variable of which the selection is the name. A variable of a macro hides it. */
  #qualifiedVariable(expr: Select): CelType | undefined {
    const { operand, field, mode } = expr;
    if (operand.kind !== 'ident' || mode !== 'plain') return undefined;
    const name = `${operand.name}.${field}`;
    if (!Object.hasOwn(this.#environment, name) || this.#isInScope(operand.name)) return undefined;
    this.qualifiedVariables.set(expr, name);
    return this.#environment[name];
  }

  #isInScope(name: string): boolean {
    for (let scope = this.#scope; scope !== undefined; scope = scope.around) if (scope.name === name) return true;
    return false;
  }

  #field(expr: Select, operand: CelType): CelType {
    switch (operand.kind) {
      case 'map':
        return operand.value;
      case 'dyn':
      case 'param':
        return dynType;
      case 'struct': {
        const type = Object.hasOwn(operand.fields, expr.field) ? operand.fields[expr.field] : undefined;
        return type ?? this.#wrong(expr.at, `undefined field '${expr.field}'`);
      }
      default: {
        const name = this.#name(operand);
        const isOpaque = operand.kind === 'opaque';
        this.#wrong(
          expr.at,
          isOpaque ? `unexpected failed resolution of '${name}'` : `type '${name}' does not support field selection`,
        );
        return dynType;
      }
    }
  }

  *#index(expr: Index): Steps<CelType> {
    const operand = this.#bindings.resolve(yield* this.#typeOf(expr.operand));
    const index = yield* this.#typeOf(expr.index);
    const inner = operand.kind === 'optional' ? this.#bindings.resolve(operand.value) : operand;
    const element = this.#elementAt(inner, index);
    if (element === undefined) return this.#noOverload(expr.at, expr.optional ? '_[?_]' : '_[_]', [operand, index]);
    return expr.optional || operand.kind === 'optional' ? optionalType(element) : element;
  }

  #elementAt(operand: CelType, index: CelType): CelType | undefined {
    if (operand.kind === 'dyn' || operand.kind === 'param') return dynType;
    if (operand.kind === 'list') return this.#bindings.assign(intType, index) ? operand.element : undefined;
    if (operand.kind === 'map') return this.#bindings.assign(operand.key, index) ? operand.value : undefined;
    return undefined;
  }

  #noOverload(at: number, name: string, types: readonly CelType[], target?: CelType): CelType {
    const args = `(${types.map((type) => this.#name(type)).join(', ')})`;
    const applied = target === undefined ? args : `${this.#name(target)}.${args}`;
    return this.#wrong(at, `found no matching overload for '${name}' applied to '${applied}'`);
  }

  *#call(expr: Call): Steps<CelType> {
    const qualified = this.#qualifiedName(expr);
    if (qualified !== undefined) {
      this.qualified.add(expr);
      return yield* this.#resolve(expr, qualified, undefined);
    }
    const target = expr.target && (this.#simple(expr.target) ?? (yield* this.#typeOf(expr.target)));
    return yield* this.#resolve(expr, expr.name, target);
  }

  #qualifiedName({ target, name }: Call): string | undefined {
    if (target?.kind !== 'ident') return undefined;
    const qualified = `${target.name}.${name}`;
    return this.#globals(qualified) === undefined ? undefined : qualified;
  }

  #globals(name: string): readonly Overload[] | undefined {
    return functions.global(name) ?? this.#extension?.functions(name);
  }

  #members(name: string): readonly Overload[] | undefined {
    const [common, own] = [functions.member(name), this.#extension?.methods?.(name)];
    return common && own ? [...common, ...own] : (common ?? own);
  }

  *#construction(expr: Construction): Steps<CelType> {
    const { typeName: name, fields } = expr;
    const made = this.#extension?.constructorOf(name);
    if (!made) return this.#wrong(expr.at, `undeclared reference to '${name}'`);
    this.constructors.set(expr, made);
    for (const { name: field, at, value, optional } of fields) {
      const type = made.fieldType(field) ?? this.#wrong(at, `undefined field '${field}'`);
      yield* this.#expect(optional ? optionalType(type) : type, value);
    }
    return made.type;
  }

  *#resolve(expr: Call, name: string, target: CelType | undefined): Steps<CelType> {
    const known = target === undefined ? this.#globals(name) : this.#members(name);
    const args = yield* this.#argumentTypes(expr);
    if (known === undefined) return this.#wrong(expr.at, `undeclared reference to '${name}'`);
    const types = target === undefined ? args : [target, ...args];
    const matching: Overload[] = [];
    const results: CelType[] = [];
    for (const overload of known) {
      if (overload.params.length !== types.length) continue;
      const [result, ...params] = this.#bindings.instantiate([overload.result, ...overload.params]);
      if (result === undefined || !this.#bindings.assignAll(params, types)) continue;
      matching.push(overload);
      results.push(this.#bindings.resolve(result));
    }
    if (matching.length === 0) return this.#noOverload(expr.at, published(name), args, target);
    this.overloads.set(expr, matching);
    validateLiterals(expr, {
      complain: (at, reason) => this.#invalid.add(at, reason),
      typeOf: (part) => this.typeOf(part),
    });
    return commonType(results);
  }

  *#argumentTypes(expr: Call): Steps<readonly CelType[]> {
    const around = this.#mixed;
    this.#mixed ||= expr.name === 'format';
    const types: CelType[] = [];
    for (const arg of expr.args) {
      if (this.#isPauseDue()) yield;
      types.push(this.#simple(arg) ?? (yield* this.#typeOf(arg)));
    }
    this.#mixed = around;
    return types;
  }

  *#conditional({ at, condition, yes, no }: Conditional): Steps<CelType> {
    const test = yield* this.#typeOf(condition);
    const results = [yield* this.#typeOf(yes), yield* this.#typeOf(no)];
    const joined = this.#bindings.fresh();
    const fits = this.#bindings.assignAll([boolType, joined, joined], [test, ...results]);
    return fits ? this.#bindings.resolve(joined) : this.#noOverload(at, '_?_:_', [test, ...results]);
  }

  *#elements(elements: readonly Element[]): Steps<CelType> {
    const types: CelType[] = [];
    for (const { value, optional } of elements) {
      if (this.#isPauseDue()) yield;
      types.push(this.#entryType(value, optional, this.#simple(value) ?? (yield* this.#typeOf(value))));
    }
    return yield* this.#same(types, (index) => elements[index]?.value);
  }

  *#map(entries: readonly Entry[]): Steps<CelType> {
    const keyTypes: CelType[] = [];
    for (const { key } of entries) {
      if (this.#isPauseDue()) yield;
      keyTypes.push(this.#simple(key) ?? (yield* this.#typeOf(key)));
    }
    const keys = yield* this.#same(keyTypes, (index) => entries[index]?.key);
    const values = yield* this.#elements(entries);
    return mapType(keys, values);
  }

  /** The type of an element; for an optional element, the type of its value. */
  #entryType(value: Expr, optional: boolean, given: CelType): CelType {
    const type = this.#bindings.resolve(given);
    if (!optional || type.kind === 'dyn') return type;
    if (type.kind === 'optional') return type.value;
    return this.#wrong(value.at, `expected type '${this.#name(optionalType(type))}' but found '${this.#name(type)}'`);
  }

  /** The common type of parts, which is known at evaluation if there is none. */
  *#same(types: readonly CelType[], partAt: (index: number) => Expr | undefined): Steps<CelType> {
    const joined = this.#bindings.fresh();
    let isMixed = false;
    let last: CelType | undefined;
    for (const [index, type] of types.entries()) {
      // Long lists are mostly of literals.
      if (type === last) continue;
      const isFirst = last === undefined;
      last = type;
      if (this.#isPauseDue()) yield;
      if (isFirst) {
        this.#bindings.assign(joined, type);
        continue;
      }
      const before = this.#bindings.finalize(joined);
      const fits = this.#bindings.assign(joined, type);
      isMixed ||= !fits;
      if (this.#mixed || (fits && this.#isSame(joined, type))) continue;
      const reason = `expected type '${typeName(before)}' but found '${this.#name(type)}'`;
      this.#invalid.add(partAt(index)?.at ?? 0, reason);
    }
    return isMixed ? dynType : this.#bindings.resolve(joined);
  }

  #isSame(one: CelType, other: CelType): boolean {
    const [first, second] = [this.#bindings.finalize(one), this.#bindings.finalize(other)];
    return first === second || typeName(first) === typeName(second);
  }

  *#fold(expr: Fold): Steps<CelType> {
    const range = this.#bindings.resolve(yield* this.#typeOf(expr.range));
    const [first, second] = this.#variables(expr, range);
    const around = this.#scope;
    this.#scope = { name: expr.first, type: first, around };
    if (expr.second !== undefined) this.#scope = { name: expr.second, type: second, around: this.#scope };
    const result = yield* this.#turn(expr, first, expr.second === undefined ? first : second);
    this.#scope = around;
    return result;
  }

  /** The types of the variables of a macro. */
  #variables(expr: Fold, range: CelType): readonly [CelType, CelType] {
    const two = expr.second !== undefined;
    if (range.kind === 'list') return two ? [intType, range.element] : [range.element, range.element];
    if (range.kind === 'map') return [range.key, range.value];
    if (range.kind === 'dyn' || range.kind === 'param') return [dynType, dynType];
    const type = this.#wrong(
      expr.range.at,
      `expression of type '${this.#name(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
    );
    return [type, type];
  }

  *#turn(expr: Fold, first: CelType, element: CelType): Steps<CelType> {
    const { at, filter, body } = expr;
    const test = filter && (yield* this.#typeOf(filter));
    const result = this.#resultOf(expr, first, element, yield* this.#typeOf(body));
    if (test) this.#expectTest(at, test, result);
    return result;
  }

  #resultOf({ operation, at, body }: Fold, first: CelType, element: CelType, type: CelType): CelType {
    switch (operation) {
      case 'all':
      case 'exists':
        this.#assignable(boolType, type, body);
        return boolType;
      case 'existsOne':
        this.#expectTest(at, type, intType);
        return boolType;
      case 'filter':
        this.#expectTest(at, type, listType(element));
        return listType(element);
      case 'map':
      case 'transformList':
        return listType(type);
      case 'transformMap':
        return mapType(first, type);
      case 'transformMapEntry':
        return this.#assignable(mapType(dynType, dynType), type, body);
    }
  }

  /** The condition of a macro that is published as `condition ? with element : without`. */
  #expectTest(at: number, test: CelType, result: CelType): void {
    if (!this.#bindings.assign(boolType, test)) this.#noOverload(at, '_?_:_', [test, result, result]);
  }

  *#optionalMap(expr: OptionalMap): Steps<CelType> {
    const value = this.#bindings.fresh();
    const target = yield* this.#typeOf(expr.target);
    if (!this.#bindings.assign(optionalType(value), target)) {
      for (const name of ['hasValue', 'value']) this.#noOverload(expr.at, name, [], target);
    }
    const inner = this.#bindings.resolve(value);
    const around = this.#scope;
    this.#scope = { name: expr.variable, type: inner.kind === 'param' ? dynType : inner, around };
    const result = yield* this.#mapped(expr);
    this.#scope = around;
    return result;
  }

  *#mapped({ flat, body }: OptionalMap): Steps<CelType> {
    if (!flat) return optionalType(yield* this.#typeOf(body));
    const result = optionalType(this.#bindings.fresh());
    yield* this.#expect(result, body);
    return this.#bindings.resolve(result);
  }
}

function literalType(value: CelValue): CelType {
  switch (typeof value) {
    case 'boolean':
      return boolType;
    case 'bigint':
      return intType;
    case 'number':
      return doubleType;
    case 'string':
      return stringType;
    default:
      if (value === null) return nullType;
      return value instanceof CelUint ? uintType : bytesType;
  }
}

/** Operators have names of their own in messages. */
const published = (name: string): string => (name === '_in_' ? '@in' : name);

/** The result type if several signatures match. */
function commonType(types: readonly CelType[]): CelType {
  const [first, ...others] = types;
  if (first === undefined) return dynType;
  return others.every((type) => typeName(type) === typeName(first)) ? first : dynType;
}
