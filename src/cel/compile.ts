import { limits } from '../base/limits.ts';
import type { CelBudget } from './budget.ts';
import type { CelCompileOptions, CelEnvironment, CelProgram } from './cel.ts';
import { check } from './check.ts';
import { CelCompileError, CelEvaluationError } from './error.ts';
import { CelFault } from './fault.ts';
import { Meter } from './meter.ts';
import { parse } from './parse.ts';
import { Planner } from './plan.ts';
import type { Step } from './step.ts';
import { type Expr, someExpr } from './syntax.ts';
import { type CelType, typeName } from './type.ts';
import type { CelValue } from './value.ts';

/** See `Cel.compile`. */
export function compile(source: string, environment: CelEnvironment, options: CelCompileOptions = {}): CelProgram {
  const expr = parse(source);
  const checked = check(expr, source, environment);
  demandType(checked.type, options.returns);
  const step = new Planner(checked, environment).plan(expr);
  return {
    source,
    type: checked.type,
    evaluate: (variables, budget) => evaluate(step, variables, budget),
    selects: (variable, field) => someExpr(expr, (each) => isSelection(each, field) && isVariable(each, variable)),
    selectsField: (field) => someExpr(expr, (each) => isSelection(each, field)),
  };
}

function demandType(type: CelType, wanted: readonly CelType[] | undefined): void {
  if (wanted === undefined || wanted.some((each) => typeName(each) === typeName(type))) return;
  throw new CelCompileError(`must evaluate to ${wanted.map(typeName).join(' or ')} but got ${typeName(type)}`);
}

function evaluate(step: Step, variables: Readonly<Record<string, unknown>>, budget: CelBudget | undefined): CelValue {
  const meter = new Meter(Math.min(limits.celCostMax, budget?.left ?? limits.celCostMax));
  try {
    return step({ meter, variables, slots: [] });
  } catch (error) {
    if (error instanceof CelFault) throw new CelEvaluationError(error.reason, error.code);
    throw error;
  } finally {
    budget?.take(meter.spent);
  }
}

const isSelection = (expr: Expr, field: string): boolean => expr.kind === 'select' && expr.field === field;

const isVariable = (expr: Expr, variable: string): boolean =>
  expr.kind === 'select' && expr.operand.kind === 'ident' && expr.operand.name === variable;
