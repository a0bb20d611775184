import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { inSlices } from '../../base/time/in-slices.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import { CelBudget } from '../../cel/budget.ts';
import type { CelValueProgram } from '../../cel/compile.ts';
import { CelEvaluationError } from '../../cel/error.ts';
import { CelFault } from '../../cel/fault.ts';
import { CelAuthorizer, CelResourceCheck, type Decisions, PendingDecision, type ResourceFields } from '../../cel/library/authorizer.ts';
import { CelLazyMap, type CelValue, fromJson } from '../../cel/value.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { CompiledExpression } from './expressions.ts';
import { namespaceValue } from './namespace-value.ts';

/** What expressions about a request see. Objects are JSON. */
export interface ExpressionInput {
  /** An AdmissionRequest without its uid and its objects; fields that are empty are absent. */
  readonly request: Readonly<Record<string, unknown>>;
  /** Undefined where there is none: then it is null. */
  readonly object: ApiObject | undefined;
  readonly oldObject: ApiObject | undefined;
  readonly namespaceObject?: ApiObject | undefined;
  readonly params?: ApiObject | undefined;
  /** Answers `authorizer`. */
  readonly decisions: Decisions;
  /** What `authorizer.requestResource` asks about. */
  readonly requestResource: Pick<ResourceFields, 'group' | 'resource' | 'subresource' | 'namespace' | 'name'>;
}

export type ExpressionResult =
  | { readonly type: 'value'; readonly value: CelValue }
  /** The expression does not compile, or its evaluation failed. The message is in the words of kube-apiserver. */
  | { readonly type: 'failed'; readonly message: string }
  /** The budget is used up: no further expression of it gives a result. */
  | { readonly type: 'outOfBudget'; readonly message: string };

interface EvaluationOptions {
  /** Of the policy, as compiled. */
  readonly variables?: ReadonlyMap<string, CompiledExpression>;
  /** Shared by all expressions; the cost of a variable is paid once. */
  readonly budget: CelBudget;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * Evaluates expressions about one request, one at a time: the next one when the result of the one before it is there. Variables
 * are evaluated when an expression needs them first, and once. Each expression and each variable may cost `limits.celCostMax`.
 * However many there are, they do not hold the event loop.
 */
export class ExpressionEvaluation {
  readonly #purse: Purse;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #slice: TimeSlice;
  readonly #variables: Variables;
  readonly #values: Values;

  constructor(input: ExpressionInput, { variables = new Map(), budget, clock }: EvaluationOptions) {
    this.#purse = { budget, work: 0 };
    this.#clock = clock;
    this.#slice = new TimeSlice(clock);
    const values = valuesOf(input);
    this.#variables = new Variables(variables, values, this.#purse);
    this.#values = { ...values, variables: this.#variables };
  }

  /**
   * A promise if the evaluation takes long, or waits for its turn or for a decision of an authorizer. Rejects only if that does. A
   * result may be read until the objects of the input change.
   */
  evaluate(expression: CompiledExpression): ExpressionResult | Promise<ExpressionResult> {
    if (expression.type === 'error') return { type: 'failed', message: `compilation error: ${expression.detail}` };
    if (this.#purse.budget.left < 0) return outOfBudget;
    if (this.#slice.over) return this.#slice.next().then(() => this.evaluate(expression));
    try {
      this.#purse.work = 2 * limits.ruleCostAtOnce;
      return resultOf(expression, evaluateAtOnce(expression.program, this.#values, this.#purse));
    } catch (thrown) {
      if (thrown instanceof TakesLong) return this.#evaluateInSlices(expression);
      if (thrown instanceof PendingDecision) return thrown.settled.then(() => this.evaluate(expression));
      if (thrown instanceof OutOfBudget) return outOfBudget;
      throw thrown;
    }
  }

  /**
   * Waits for what an evaluation in steps lacked: a decision, or a variable that is not selected by its name (`dyn(variables).x`)
   * or is deep below another one. A variable may lack others in its turn.
   */
  async #supply(lacked: unknown): Promise<void> {
    const wanted = [lacked];
    for (let last = wanted.at(-1); last !== undefined; last = wanted.at(-1)) {
      try {
        if (last instanceof PendingDecision) await last.settled;
        else if (last instanceof TakesLong && last.variable !== undefined) await inSlices(this.#variables.prepare(last.variable), this.#clock);
        else throw last;
        wanted.pop();
      } catch (thrown) {
        if (thrown === last) throw thrown;
        wanted.push(thrown);
      }
    }
  }

  async #evaluateInSlices(expression: Program): Promise<ExpressionResult> {
    for (;;) {
      try {
        return resultOf(expression, await inSlices(evaluateInSteps(expression.program, this.#values, this.#purse), this.#clock));
      } catch (thrown) {
        if (thrown instanceof OutOfBudget) return outOfBudget;
        await this.#supply(thrown);
      }
    }
  }
}

type Program = CompiledExpression & { readonly type: 'program' };

/** A value, or why there is none. */
type Outcome = { readonly value: CelValue } | { readonly failed: string };

const outOfBudget: ExpressionResult = {
  type: 'outOfBudget',
  message: 'validation failed due to running out of cost budget, no further validation rules will be run',
};

const resultOf = ({ source }: Program, outcome: Outcome): ExpressionResult =>
  'value' in outcome ? { type: 'value', value: outcome.value } : { type: 'failed', message: `expression '${source}' resulted in error: ${outcome.failed}` };

/** Thrown out of an evaluation that costs more than it should at once, or needs a variable first: it is made anew, in steps. */
class TakesLong {
  readonly variable: string | undefined;

  constructor(variable?: string) {
    this.variable = variable;
  }
}

/** Thrown out of an evaluation when no budget is left. */
class OutOfBudget {}

/** What an evaluation pays with. */
interface Purse {
  /** Of all expressions. */
  readonly budget: CelBudget;
  /** The work that is left for this turn: half of it for an expression, the rest for the variables that it uses. */
  work: number;
}

type Values = Readonly<Record<string, CelValue>>;

/** Throws TakesLong, OutOfBudget or PendingDecision. An evaluation that ends so is not paid for, but for the variables that it made. */
function evaluateAtOnce(program: CelValueProgram, values: Values, purse: Purse): Outcome {
  const most = Math.min(limits.celCostMax, purse.budget.left);
  const work = purse.work / 2;
  const own = new CelBudget(most, work);
  purse.work -= work;
  try {
    return outcomeOf(() => program.evaluateValues(values, own), { most, own, budget: purse.budget });
  } finally {
    purse.work += Math.max(own.work, 0);
  }
}

function* evaluateInSteps(program: CelValueProgram, values: Values, { budget }: Purse): Generator<void, Outcome> {
  const most = Math.min(limits.celCostMax, budget.left);
  const own = new CelBudget(most);
  let read: () => CelValue;
  try {
    const value = yield* program.evaluateInSteps(values, own);
    read = () => value;
  } catch (error) {
    read = () => {
      throw error;
    };
  }
  return outcomeOf(read, { most, own, budget });
}

interface Payment {
  /** What the evaluation may cost at most, and its own budget of this size. */
  readonly most: number;
  readonly own: CelBudget;
  /** Pays for the evaluation, as it has paid for variables meanwhile. */
  readonly budget: CelBudget;
}

function outcomeOf(read: () => CelValue, { most, own, budget }: Payment): Outcome {
  let outcome: Outcome;
  try {
    outcome = { value: read() };
  } catch (error) {
    if (!(error instanceof CelEvaluationError)) throw error;
    if (error.code === 'work') throw new TakesLong();
    const isOver = error.code === 'cost';
    if (isOver && most < limits.celCostMax) throw spent(budget);
    outcome = { failed: isOver ? 'operation cancelled: actual cost limit exceeded' : error.message };
  }
  budget.take(most - Math.max(own.left, 0));
  if (budget.left < 0) throw new OutOfBudget();
  return outcome;
}

function spent(budget: CelBudget): OutOfBudget {
  budget.take(budget.left + 1);
  return new OutOfBudget();
}

/** The variables of a policy. */
class Variables extends CelLazyMap {
  readonly #compiled: ReadonlyMap<string, CompiledExpression>;
  readonly #values: Values;
  readonly #purse: Purse;
  readonly #known = new Map<string, Outcome>();
  /** Variables that are being evaluated: the type checker lets none use itself, but does not look into `dyn(variables)`. */
  readonly #running = new Set<string>();

  constructor(compiled: ReadonlyMap<string, CompiledExpression>, values: Values, purse: Purse) {
    super();
    this.#compiled = compiled;
    this.#values = { ...values, variables: this };
    this.#purse = purse;
  }

  get size(): number {
    return this.#compiled.size;
  }

  keys(): readonly CelValue[] {
    return [...this.#compiled.keys()];
  }

  get(key: CelValue): CelValue | undefined {
    const compiled = typeof key === 'string' ? this.#compiled.get(key) : undefined;
    if (typeof key !== 'string' || !compiled) return undefined;
    const outcome = this.#known.get(key) ?? this.#evaluate(key, compiled);
    if ('value' in outcome) return outcome.value;
    const verb = compiled.type === 'error' ? 'compile' : 'evaluate';
    throw new CelFault(`composited variable ${JSON.stringify(key)} fails to ${verb}: ${outcome.failed}`);
  }

  #evaluate(name: string, compiled: CompiledExpression): Outcome {
    if (compiled.type === 'error') return { failed: compiled.detail };
    this.#requireNear(name);
    try {
      return this.#within(name, () => evaluateAtOnce(compiled.program, this.#values, this.#purse));
    } catch (thrown) {
      throw thrown instanceof TakesLong && thrown.variable === undefined ? new TakesLong(name) : thrown;
    }
  }

  *prepare(name: string): Generator<void, void> {
    const compiled = this.#compiled.get(name);
    if (compiled?.type !== 'program' || this.#known.has(name) || this.#running.has(name)) return;
    this.#requireNear(name);
    this.#running.add(name);
    try {
      this.#known.set(name, yield* evaluateInSteps(compiled.program, this.#values, this.#purse));
    } finally {
      this.#running.delete(name);
    }
  }

  /** One that is deep below others is evaluated before them, so that no chain of them is too long for the stack. */
  #requireNear(name: string): void {
    if (this.#running.size >= limits.variableDepthMax && !this.#running.has(name)) throw new TakesLong(name);
  }

  #within(name: string, evaluate: () => Outcome): Outcome {
    if (this.#running.has(name)) throw new CelFault(`composited variable ${JSON.stringify(name)} needs itself`);
    this.#running.add(name);
    try {
      const outcome = evaluate();
      this.#known.set(name, outcome);
      return outcome;
    } finally {
      this.#running.delete(name);
    }
  }
}

function valuesOf(input: ExpressionInput): Values {
  const { request, object, oldObject, namespaceObject, params, decisions, requestResource } = input;
  const authorizer = new CelAuthorizer(decisions);
  return {
    request: fromJson(request),
    object: fromJson(object ?? null),
    oldObject: fromJson(oldObject ?? null),
    namespaceObject: namespaceObject ? namespaceValue(namespaceObject) : null,
    params: fromJson(params ?? null),
    authorizer,
    'authorizer.requestResource': new CelResourceCheck(authorizer, requestResource),
  };
}
