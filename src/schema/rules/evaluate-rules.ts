import { limits } from '../../base/limits.ts';
import { LongWork } from '../../base/long-work.ts';
import { CelBudget } from '../../cel/budget.ts';
import type { CelValueProgram } from '../../cel/compile.ts';
import { CelEvaluationError } from '../../cel/error.ts';
import { CelFault } from '../../cel/fault.ts';
import { usableMessage } from '../../cel/usable-message.ts';
import { type CelValue, optionalOf } from '../../cel/value.ts';
import { duplicate, type FieldError, forbidden, invalid, required } from '../../meta/field-error.ts';
import { equalValues } from '../equal-values.ts';
import { getOwn, isRecord } from '../own-property.ts';
import type { ListSchema, Schema } from '../schema.ts';
import { oldItems } from '../validate-structural.ts';
import { isLongRule } from './compile-rule.ts';
import { type CompiledRule, compiledRules } from './compiled-rules.ts';
import type { RuleTree } from './rule-tree.ts';
import { convertOf } from './rule-value.ts';

interface EvaluationOptions {
  /** The value that an update replaces. */
  readonly old?: unknown;
  /** Called with errors that do not count, because the update does not change the value that has them. Default: all count. */
  readonly onRatcheted?: (error: FieldError) => void;
  /** Shared with other evaluations. Default: `limits.celBudget`. */
  readonly budget?: CelBudget;
  /** Before the paths of errors. */
  readonly path?: string;
  /** Others wait: throws LongWork instead of doing what cannot be interrupted and takes too long. */
  readonly inline?: boolean | undefined;
}

/** What the rules of one object may cost. `inline` as above. */
export const budgetOfRules = (inline = false): CelBudget =>
  new CelBudget(limits.celBudget, undefined, inline ? { stepMax: limits.inlineCallCost } : {});

/** Evaluates the rules of an object: `steps` does the work, and may be left alone between its steps. */
export class RuleEvaluation {
  readonly errors: FieldError[] = [];
  readonly #options: EvaluationOptions;
  readonly #budget: CelBudget;
  readonly #budgetAtStart: number;
  /** The budget is used up, or an expression exceeded its own limit: no other rule is evaluated. */
  #isOver = false;
  /** Cost, and values visited, up to now; and when there was a pause. */
  #visited = 0;
  #pausedAt = 0;

  constructor(options: EvaluationOptions = {}) {
    this.#options = options;
    this.#budget = options.budget ?? budgetOfRules(options.inline);
    this.#budgetAtStart = this.#budget.left;
  }

  /** True if rules were left out, because they cost too much. */
  get isOver(): boolean {
    return this.#isOver;
  }

  *steps(tree: RuleTree, value: unknown): Generator<void, void> {
    const { old, path = '' } = this.#options;
    yield* this.#visit(tree, { path, value, old, unchanged: new Unchanged(value, old) });
  }

  get #done(): boolean {
    return this.#isOver || this.errors.length >= limits.findingsMax;
  }

  *#visit(tree: RuleTree, place: Place): Generator<void, void> {
    const { value } = place;
    if (value === null || value === undefined || this.#done) return;
    this.#visited++;
    if (tree.rules.length > 0) yield* this.#check(tree, place);
    if (this.#isLong()) yield;
    if (Array.isArray(value)) {
      if (tree.items && tree.schema.type === 'list') yield* this.#visitItems(tree.schema, tree.items, value, place);
    } else if (isRecord(value)) {
      yield* this.#visitFields(tree, value, place);
    }
  }

  *#visitFields(
    { schema, fields, others }: RuleTree,
    value: Record<string, unknown>,
    place: Place,
  ): Generator<void, void> {
    if (others) {
      const declared = schema.type === 'struct' ? schema.fields : {};
      for (const key of Object.keys(value)) {
        if (!Object.hasOwn(declared, key)) yield* this.#visit(others, partOf(place, key, `${place.path}[${key}]`));
      }
    }
    for (const [name, tree] of fields) {
      if (Object.hasOwn(value, name)) yield* this.#visit(tree, partOf(place, name, join(place.path, name)));
    }
  }

  *#visitItems(list: ListSchema, tree: RuleTree, items: readonly unknown[], place: Place): Generator<void, void> {
    const oldOf = oldItems(list, place.old);
    for (const [index, value] of items.entries()) {
      const old = oldOf(value) ?? undefined;
      const unchanged = place.unchanged.part(value, old);
      yield* this.#visit(tree, { path: `${place.path}[${index}]`, value, old, unchanged });
    }
  }

  #isLong(): boolean {
    const spent = this.#budgetAtStart - this.#budget.left + this.#visited;
    if (spent - this.#pausedAt < limits.ruleCostPerStep) return false;
    this.#pausedAt = spent;
    return true;
  }

  *#check(tree: RuleTree, place: Place): Generator<void, void> {
    const type = jsonType(tree.schema);
    const rules = compiledRules(tree);
    if (!rules) {
      const cause = 'failed to convert to declType for CEL validation rules';
      this.#fail(invalid(place.path, type, `rule compiler initialization error: ${cause}`));
      return;
    }
    const checked: Checked = { place, type, variables: new VariablesOfPlace(tree.schema, place) };
    for (const rule of rules) {
      if (this.#done) return;
      if (rule.isEmpty) continue;
      const isNew = rule.compiled === undefined;
      if (isNew && this.#options.inline && isLongRule(rule.source)) throw new LongWork();
      yield* this.#checkRule(rule, checked);
      if (isNew || this.#isLong()) yield;
    }
  }

  *#checkRule(rule: CompiledRule, checked: Checked): Generator<void, void> {
    const { place, type } = checked;
    const compiled = rule.compiled ?? (yield* rule.compile());
    if (compiled.type === 'error') {
      this.#fail(invalid(place.path, type, `rule compile error: ${compiled.detail}`));
      return;
    }
    if (rule.usesOldSelf && place.old === undefined && rule.source.optionalOldSelf !== true) return;
    const result = yield* this.#evaluate(compiled.program, () => checked.variables.of(rule));
    if (result.type !== 'value') this.#fail(invalid(place.path, type, problemOf(result, ruleText(rule))));
    else if (result.value !== true) yield* this.#reject(rule, checked);
  }

  /** Reports that the value breaks the rule. */
  *#reject(rule: CompiledRule, checked: Checked): Generator<void, void> {
    const error = yield* this.#rejection(rule, checked);
    const { onRatcheted } = this.#options;
    if (!onRatcheted || rule.usesOldSelf || !checked.place.unchanged.equal) this.#fail(error);
    else onRatcheted(named(error));
  }

  *#rejection(rule: CompiledRule, { place, type, variables }: Checked): Generator<void, FieldError> {
    const field = rule.fieldPath === '' ? place.path : join(place.path, rule.fieldPath);
    const usual = errorFor(rule, field, type, messageOf(rule));
    const message = yield* rule.message();
    if (message?.type !== 'program') return usual;
    const result = yield* this.#evaluate(message.program, () => variables.of(rule));
    switch (result.type) {
      case 'value': {
        const text = usableMessage(result.value);
        return text === undefined ? usual : errorFor(rule, field, type, text);
      }
      case 'failed':
        return usual;
      case 'budget':
        return invalid(
          field,
          type,
          `messageExpression evaluation failed due to running out of cost budget, ${noMoreRules}`,
        );
      case 'cost': {
        const source = JSON.stringify(rule.source.messageExpression);
        return invalid(field, type, `${noMoreRules} due to call cost exceeds limit for messageExpression: ${source}`);
      }
    }
  }

  *#evaluate(program: CelValueProgram, variables: () => Variables): Generator<void, Evaluated> {
    const isLast = this.#budget.left < limits.celCostMax;
    try {
      const values = variables();
      const value = this.#evaluateAtOnce(program, values);
      if (value !== undefined) return { type: 'value', value };
      return { type: 'value', value: yield* program.evaluateInSteps(values, this.#budget) };
    } catch (error) {
      if (error instanceof CelFault) return { type: 'failed', reason: error.reason };
      if (!(error instanceof CelEvaluationError)) throw error;
      if (error.code === 'failed') return { type: 'failed', reason: error.message };
      this.#isOver = true;
      return { type: isLast ? 'budget' : 'cost' };
    }
  }

  /** Most expressions are short. Undefined if this one is not: then nothing was spent. */
  #evaluateAtOnce(program: CelValueProgram, values: Variables): CelValue | undefined {
    if (this.#budget.left <= limits.ruleCostAtOnce) return undefined;
    const budget = new CelBudget(limits.ruleCostAtOnce);
    try {
      const value = program.evaluateValues(values, budget);
      this.#budget.take(limits.ruleCostAtOnce - budget.left);
      return value;
    } catch (error) {
      if (error instanceof CelEvaluationError && error.code === 'cost') return undefined;
      this.#budget.take(limits.ruleCostAtOnce - budget.left);
      throw error;
    }
  }

  #fail(error: FieldError): void {
    this.errors.push(named(error));
  }
}

/** A value with what is known of the update that it is part of. */
interface Place {
  /** Of errors; empty for the object itself. */
  readonly path: string;
  readonly value: unknown;
  /** The value that is replaced; undefined if none corresponds. */
  readonly old: unknown;
  readonly unchanged: Unchanged;
}

function partOf(place: Place, name: string, path: string): Place {
  const value = getOwn(place.value as Record<string, unknown>, name);
  const old = isRecord(place.old) ? (getOwn(place.old, name) ?? undefined) : undefined;
  // Changes of the type are invisible: both objects are in the same version. So it is never passed over, as in kube-apiserver.
  const unchanged = path === 'apiVersion' || path === 'kind' ? neverUnchanged : place.unchanged.part(value, old);
  return { path, value, old, unchanged };
}

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

/** Whether an update leaves a value as it is. Compared when it matters, and once. */
class Unchanged {
  readonly #value: unknown;
  readonly #old: unknown;
  #equal: boolean | undefined;

  constructor(value: unknown, old: unknown) {
    this.#value = value;
    this.#old = old;
  }

  get equal(): boolean {
    this.#equal ??= this.#old !== undefined && equalValues(this.#value, this.#old);
    return this.#equal;
  }

  /** Of a part. What corresponds to nothing is unchanged if the whole is: an item of an atomic list. */
  part(value: unknown, old: unknown): Unchanged {
    return old === undefined ? this : new Unchanged(value, old);
  }
}

const neverUnchanged = new Unchanged(undefined, undefined);

type Variables = Readonly<Record<string, CelValue>>;

/** A value whose rules are evaluated. */
interface Checked {
  readonly place: Place;
  /** Shown in errors in place of the value. */
  readonly type: string;
  readonly variables: VariablesOfPlace;
}

/** The variables of all rules of a value: converted once. */
class VariablesOfPlace {
  readonly #schema: Schema;
  readonly #place: Place;
  #self: CelValue | undefined;
  #oldSelf: CelValue | undefined;

  constructor(schema: Schema, place: Place) {
    this.#schema = schema;
    this.#place = place;
  }

  /** Throws a CelFault for a value of another type than the schema's. */
  of({ usesOldSelf, source: { optionalOldSelf } }: CompiledRule): Readonly<Record<string, CelValue>> {
    this.#self ??= convertOf(this.#schema)(this.#place.value);
    if (!usesOldSelf) return { self: this.#self };
    const oldSelf = this.#readOld();
    if (optionalOldSelf === true) return { self: this.#self, oldSelf: optionalOf(oldSelf) };
    return oldSelf === undefined ? { self: this.#self } : { self: this.#self, oldSelf };
  }

  #readOld(): CelValue | undefined {
    const { old } = this.#place;
    if (old !== undefined) this.#oldSelf ??= convertOf(this.#schema)(old);
    return this.#oldSelf;
  }
}

type Evaluated =
  | { readonly type: 'value'; readonly value: CelValue }
  | { readonly type: 'failed'; readonly reason: string }
  /** The expression exceeds its own limit. */
  | { readonly type: 'cost' }
  /** The rest of the budget of all rules does not suffice. */
  | { readonly type: 'budget' };

const noMoreRules = 'no further validation rules will be run';

/** Why the evaluation of a rule gave no result. */
function problemOf(result: Exclude<Evaluated, { type: 'value' }>, shown: string): string {
  switch (result.type) {
    case 'budget':
      return `validation failed due to running out of cost budget, ${noMoreRules}`;
    case 'cost':
      return `'operation cancelled: actual cost limit exceeded': ${noMoreRules} due to call cost exceeds limit for rule: ${shown}`;
    case 'failed':
      return failureText(result.reason, shown);
  }
}

/** The type of a value, as kube-apiserver shows it in place of the value. */
const jsonTypes: Readonly<Partial<Record<Schema['type'], string>>> = {
  struct: 'object',
  map: 'object',
  list: 'array',
  string: 'string',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
};

const jsonType = ({ type }: Schema): string => jsonTypes[type] ?? '';

/** The path of the object itself, as kube-apiserver shows it. */
export const rootPath = '<nil>';

const named = (error: FieldError): FieldError => (error.field === '' ? { ...error, field: rootPath } : error);

function failureText(reason: string, shown: string): string {
  if (!reason.startsWith('no such overload')) return `${reason} evaluating rule: ${shown}`;
  return `'${reason}': call arguments did not match a supported operator, function or macro signature for rule: ${shown}`;
}

function errorFor({ source: { reason } }: CompiledRule, field: string, type: string, message: string): FieldError {
  switch (reason) {
    case 'FieldValueForbidden':
      return forbidden(field, message);
    case 'FieldValueRequired':
      return required(field, message);
    case 'FieldValueDuplicate':
      return duplicate(field, type);
    default:
      return invalid(field, type, message);
  }
}

const ruleText = ({ source: { rule, message = '' } }: CompiledRule): string => (message === '' ? rule : message).trim();

const messageOf = (rule: CompiledRule): string =>
  (rule.source.message ?? '') === '' ? `failed rule: ${ruleText(rule)}` : ruleText(rule);
