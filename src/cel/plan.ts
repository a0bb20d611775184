import { limits } from '../base/limits.ts';
import type { Steps } from '../base/time/in-slices.ts';
import type { CelEnvironment } from './cel.ts';
import { type Checked, typeNames } from './check.ts';
import { absorb, CelFault } from './fault.ts';
import { planFold, planOptionalMap } from './fold.ts';
import { costOfConstruction, costOfList, costOfMap } from './meter.ts';
import { acceptsAll, type Overload, runOverload } from './overload.ts';
import { asBool, type Planning, type Step } from './step.ts';
import type { Call, Conditional, Construction, Element, Entry, Expr, Index, Logic, Select } from './syntax.ts';
import {
  CelMap,
  CelOptional,
  CelTypeValue,
  CelUint,
  type CelValue,
  isList,
  KeyedMap,
  optionalOf,
  typeNameOf,
} from './value.ts';

/** Resolves names to values: the innermost scope first. */
interface Names {
  readonly name: string;
  readonly slot: number;
  readonly around: Names | undefined;
}

/** Converts a checked expression into steps. */
export class Planner implements Planning {
  readonly #checked: Checked;
  readonly #environment: CelEnvironment;
  readonly #variableSlots = new Map<string, number>();
  readonly #given = new Map<Expr, Step>();
  #names: Names | undefined;
  #slots = 0;
  #planned = 0;

  constructor(checked: Checked, environment: CelEnvironment) {
    this.#checked = checked;
    this.#environment = environment;
  }

  isQualified(call: Call): boolean {
    return this.#checked.isQualified(call);
  }

  /** Whether the expression selects a field that is computed when it is read. */
  isLazy(expr: Expr): expr is Select {
    if (expr.kind !== 'select' || expr.operand.kind !== 'ident') return false;
    const type = this.#checked.typeOf(expr.operand);
    return type.kind === 'struct' && type.lazy === true;
  }

  /** Plans an expression whose parts are evaluated by somebody else, who gives the steps that read their values. */
  planWith(expr: Expr, parts: ReadonlyMap<Expr, Step>): Steps<Step> {
    for (const [part, step] of parts) this.#given.set(part, step);
    return this.plan(expr);
  }

  /** A slot for a value that no variable has. */
  newSlot(): number {
    return this.#slots++;
  }

  *plan(expr: Expr): Steps<Step> {
    if (++this.#planned % limits.celPartsPerStep === 0) yield;
    const simple = this.#simple(expr);
    if (simple) return simple;
    switch (expr.kind) {
      case 'literal':
      case 'ident':
        throw new TypeError('not planned');
      case 'select':
        return planSelect(expr, yield* this.plan(expr.operand));
      case 'index':
        return planIndex(expr, yield* this.plan(expr.operand), yield* this.plan(expr.index));
      case 'call':
        return yield* this.#call(expr);
      case 'list':
        return yield* this.#list(expr.elements);
      case 'map':
        return yield* this.#map(expr.entries);
      case 'construction':
        return yield* this.#construction(expr);
      case 'logic':
        return yield* this.#logic(expr);
      case 'conditional':
        return yield* this.#conditional(expr);
      case 'fold':
        return yield* planFold(expr, this);
      case 'optionalMap':
        return yield* planOptionalMap(expr, this);
    }
  }

  /** Of literals, names and fields of those, which most parts are: faster than in steps. */
  #simple(expr: Expr): Step | undefined {
    const given = this.#given.get(expr);
    if (given) return given;
    switch (expr.kind) {
      case 'literal': {
        const { value } = expr;
        return () => value;
      }
      case 'ident':
        return this.#ident(expr.name);
      case 'select': {
        const named = this.#named(expr);
        if (named) return named;
        const operand = this.#simple(expr.operand);
        return operand && planSelect(expr, operand);
      }
      default:
        return undefined;
    }
  }

  *within<T>(name: string, act: (slot: number) => Steps<T>): Steps<T> {
    const [around, slot] = [this.#names, this.#slots++];
    this.#names = { name, slot, around };
    const result = yield* act(slot);
    this.#names = around;
    return result;
  }

  #ident(name: string): Step {
    for (let names = this.#names; names !== undefined; names = names.around) {
      if (names.name === name) return readSlot(names.slot, name);
    }
    if (Object.hasOwn(this.#environment, name)) return readVariable(this.#variableSlot(name), name);
    if (!typeNames.has(name)) throw new TypeError(`not checked: ${name}`);
    const type = new CelTypeValue(name);
    return () => type;
  }

  #variableSlot(name: string): number {
    const slot = this.#variableSlots.get(name) ?? this.#slots++;
    this.#variableSlots.set(name, slot);
    return slot;
  }

  /** Of a selection that is the name of a variable or type. */
  #named(expr: Select): Step | undefined {
    const variable = this.#checked.variableOf(expr);
    if (variable !== undefined) return readVariable(this.#variableSlot(variable), variable);
    const named = this.#checked.typeNamed(expr);
    if (named === undefined) return undefined;
    const type = new CelTypeValue(named);
    return () => type;
  }

  *#call(expr: Call): Steps<Step> {
    const target = this.#checked.isQualified(expr) ? undefined : expr.target;
    const steps = yield* this.#all(target === undefined ? expr.args : [target, ...expr.args]);
    const overloads = this.#checked.overloadsOf(expr);
    return (frame) => {
      const args = steps.map((step) => step(frame));
      return runOverload(overloadFor(overloads, args), args, frame.meter);
    };
  }

  *#all(exprs: readonly Expr[]): Steps<readonly Step[]> {
    const steps: Step[] = [];
    for (const expr of exprs) {
      if (++this.#planned % limits.celPartsPerStep === 0) yield;
      steps.push(this.#simple(expr) ?? (yield* this.plan(expr)));
    }
    return steps;
  }

  *#list(elements: readonly Element[]): Steps<Step> {
    const steps: { readonly step: Step; readonly optional: boolean }[] = [];
    for (const { value, optional } of elements) steps.push({ step: yield* this.plan(value), optional });
    return (frame) => {
      frame.meter.spend(costOfList);
      const list: CelValue[] = [];
      for (const { step, optional } of steps) {
        const value = optional ? present(step(frame)) : step(frame);
        if (value !== undefined) list.push(value);
      }
      return list;
    };
  }

  *#map(entries: readonly Entry[]): Steps<Step> {
    const steps: { readonly key: Step; readonly value: Step; readonly optional: boolean }[] = [];
    for (const { key, value, optional } of entries) {
      steps.push({ key: yield* this.plan(key), value: yield* this.plan(value), optional });
    }
    return (frame) => {
      frame.meter.spend(costOfMap);
      const map = new KeyedMap();
      for (const { key, value, optional } of steps) {
        const [name, content] = [key(frame), value(frame)];
        const kept = optional ? present(content) : content;
        if (kept !== undefined) map.add(name, kept);
      }
      return map;
    };
  }

  *#construction(expr: Construction): Steps<Step> {
    const made = this.#checked.constructorOf(expr);
    if (!made) throw new TypeError(`not checked: ${expr.typeName}`);
    const steps: { readonly name: string; readonly step: Step; readonly optional: boolean }[] = [];
    for (const { name, value, optional } of expr.fields) steps.push({ name, step: yield* this.plan(value), optional });
    return (frame) => {
      frame.meter.spend(costOfConstruction);
      const fields = new Map<string, CelValue>();
      for (const { name, step, optional } of steps) {
        const value = optional ? present(step(frame)) : step(frame);
        if (value !== undefined) fields.set(name, value);
      }
      return made.construct(fields);
    };
  }

  /** One decisive term settles the result, wherever it is; only without one does a fault count. */
  *#logic({ operator, terms }: Logic): Steps<Step> {
    const steps = yield* this.#all(terms);
    const decisive = operator === '||';
    return (frame) => {
      let fault: CelFault | undefined;
      for (const step of steps) {
        try {
          if (asBool(step(frame)) === decisive) return decisive;
        } catch (error) {
          fault = absorb(error, frame.meter);
        }
      }
      if (fault !== undefined) throw fault;
      return !decisive;
    };
  }

  *#conditional(expr: Conditional): Steps<Step> {
    const condition = yield* this.plan(expr.condition);
    const [yes, no] = [yield* this.plan(expr.yes), yield* this.plan(expr.no)];
    return (frame) => (asBool(condition(frame)) ? yes(frame) : no(frame));
  }
}

const readSlot =
  (slot: number, name: string): Step =>
  (frame) => {
    frame.meter.spend(1);
    const value = frame.slots[slot];
    if (value === undefined) throw new CelFault(`no such attribute: ${name}`);
    return value;
  };

const readVariable = (slot: number, name: string): Step => {
  const read = readSlot(slot, name);
  return (frame) => {
    frame.slots[slot] ??= frame.variable(name);
    return read(frame);
  };
};

function overloadFor(overloads: readonly Overload[], args: readonly CelValue[]): Overload {
  const found = overloads.find((overload) => acceptsAll(overload, args));
  if (found !== undefined) return found;
  throw new CelFault(`no such overload: ${overloads[0]?.name ?? ''}(${args.map(typeNameOf).join(', ')})`);
}

/** The value of an optional. */
function present(value: CelValue): CelValue | undefined {
  if (value instanceof CelOptional) return value.value;
  throw new CelFault(`no such overload: optional_type expected, found ${typeNameOf(value)}`);
}

/** Undefined if the value has no such field. */
function fieldOf(value: CelValue, field: string): CelValue | undefined {
  if (value instanceof CelMap) return value.get(field);
  throw new CelFault(`no such overload: ${typeNameOf(value)}.${field}`);
}

function planSelect({ field, mode }: Select, operand: Step): Step {
  return (frame) => {
    if (mode !== 'test') frame.meter.spend(1);
    const value = operand(frame);
    const optional = value instanceof CelOptional;
    const inner = optional ? value.value : value;
    const found = inner === undefined ? undefined : fieldOf(inner, field);
    if (mode === 'test') return found !== undefined;
    if (optional || mode === 'optional') return optionalOf(found);
    if (found === undefined) throw new CelFault(`no such key: ${field}`);
    return found;
  };
}

function planIndex({ optional, index: indexed }: Index, operand: Step, index: Step): Step {
  // Only what stands in the source is shown.
  const shown = indexed.kind === 'literal' ? `: ${String(indexed.value)}` : '';
  return (frame) => {
    frame.meter.spend(1);
    const [value, key] = [operand(frame), index(frame)];
    if (value instanceof CelOptional)
      return optionalOf(value.value === undefined ? undefined : elementOf(value.value, key));
    const found = elementOf(value, key);
    if (optional) return optionalOf(found);
    if (found === undefined) throw new CelFault(`${isList(value) ? 'index out of bounds' : 'no such key'}${shown}`);
    return found;
  };
}

function elementOf(value: CelValue, key: CelValue): CelValue | undefined {
  if (value instanceof CelMap) return value.get(key);
  if (!isList(value)) throw new CelFault(`no such overload: ${typeNameOf(value)}[${typeNameOf(key)}]`);
  const index = key instanceof CelUint ? key.value : key;
  if (typeof index === 'bigint') return value[Number(index)];
  if (typeof index === 'number' && Number.isInteger(index)) return value[index];
  throw new CelFault(`no such overload: list[${typeNameOf(key)}]`);
}
