import { limits } from '../base/limits.ts';
import { allAtOnce, type Steps } from '../base/time/in-slices.ts';
import type { CelBudget } from './budget.ts';
import type { CelCompileOptions, CelEnvironment, CelProgram } from './cel.ts';
import { check } from './check.ts';
import { constantFault } from './constant-faults.ts';
import { CelCompileError, CelEvaluationError, CelInstantiationError } from './error.ts';
import { CelFault } from './fault.ts';
import { Meter } from './meter.ts';
import { parseInSteps } from './parse.ts';
import { Planner } from './plan.ts';
import { planSliced, type SlicedStep } from './plan-sliced.ts';
import type { Frame, Step } from './step.ts';
import { type Expr, someExpr } from './syntax.ts';
import { type CelType, resultTypeName, typeName } from './type.ts';
import { type CelValue, fromJson } from './value.ts';

/** A program whose variables the caller converts to values. */
export interface CelValueProgram extends CelProgram {
  /** As `evaluate`, of values instead of data. */
  evaluateValues(values: Readonly<Record<string, CelValue>>, budget?: CelBudget): CelValue;
  /** As `evaluateValues`, with a pause now and then for whoever iterates. */
  evaluateInSteps(values: Readonly<Record<string, CelValue>>, budget?: CelBudget): Generator<void, CelValue>;
  /** Whether the expression refers to the variable. */
  uses(variable: string): boolean;
}

/** See `Cel.compile`. */
export const compile = (
  source: string,
  environment: CelEnvironment,
  options: CelCompileOptions = {},
): CelValueProgram => allAtOnce(compileInSteps(source, environment, options));

/** As `compile`, with pauses for whoever iterates: the work on a long source takes tens of milliseconds or more. */
export function* compileInSteps(
  source: string,
  environment: CelEnvironment,
  options: CelCompileOptions = {},
): Steps<CelValueProgram> {
  const expr = yield* parseInSteps(source);
  const checked = yield* check(expr, source, environment, options.extension);
  demandType(checked.type, options.returns);
  const fault = yield* constantFault(expr, new Planner(checked, environment));
  if (fault !== undefined) throw new CelInstantiationError(fault, checked.type);
  const step = yield* new Planner(checked, environment).plan(expr);
  let sliced: SlicedStep | undefined;
  function* plannedAnew(): Steps<SlicedStep> {
    const again = yield* check(expr, source, environment, options.extension);
    return yield* planSliced(expr, new Planner(again, environment));
  }
  return {
    source,
    type: checked.type,
    evaluate: (variables, budget) => evaluate(step, (name) => fromOwn(variables, name, fromJson), budget),
    evaluateValues: (values, budget) => evaluate(step, (name) => fromOwn(values, name, (value) => value), budget),
    *evaluateInSteps(values, budget) {
      // Planned when it is needed: most expressions are short.
      sliced ??= yield* plannedAnew();
      return yield* evaluateSliced(sliced, (name) => fromOwn(values, name, (value) => value), budget);
    },
    uses: (variable) => someExpr(expr, (each) => each.kind === 'ident' && each.name === variable),
    selects: (variable, field) => someExpr(expr, (each) => isSelection(each, field) && isVariable(each, variable)),
    selectsField: (field) => someExpr(expr, (each) => isSelection(each, field)),
  };
}

function demandType(type: CelType, wanted: readonly CelType[] | undefined): void {
  if (wanted === undefined || wanted.some((each) => typeName(each) === typeName(type))) return;
  throw new CelCompileError(
    `must evaluate to ${wanted.map(resultTypeName).join(' or ')} but got ${resultTypeName(type)}`,
  );
}

/** The value of a variable; undefined if it has none. */
function fromOwn<T>(variables: Readonly<Record<string, T>>, name: string, read: (data: T) => CelValue) {
  const data = Object.hasOwn(variables, name) ? variables[name] : undefined;
  return data === undefined ? undefined : read(data);
}

function evaluate(step: Step, variable: Frame['variable'], budget: CelBudget | undefined): CelValue {
  const meter = new Meter(Math.min(limits.celCostMax, budget?.left ?? limits.celCostMax), budget);
  try {
    return step({ meter, variable, slots: [] });
  } catch (error) {
    if (error instanceof CelFault) throw new CelEvaluationError(error.reason, error.code);
    throw error;
  } finally {
    budget?.take(meter.spent, meter.work);
  }
}

function* evaluateSliced(
  step: SlicedStep,
  variable: Frame['variable'],
  budget: CelBudget | undefined,
): Generator<void, CelValue> {
  const meter = new Meter(Math.min(limits.celCostMax, budget?.left ?? limits.celCostMax), budget);
  try {
    return yield* step({ meter, variable, slots: [] });
  } catch (error) {
    if (error instanceof CelFault) throw new CelEvaluationError(error.reason, error.code);
    throw error;
  } finally {
    budget?.take(meter.spent, meter.work);
  }
}

const isSelection = (expr: Expr, field: string): boolean => expr.kind === 'select' && expr.field === field;

const isVariable = (expr: Expr, variable: string): boolean =>
  expr.kind === 'select' && expr.operand.kind === 'ident' && expr.operand.name === variable;
