import { limits } from '../../base/limits.ts';
import type { FieldError } from '../../meta/field-error.ts';
import type { StructSchema } from '../schema.ts';
import { defaultsIn } from '../structural/default-errors.ts';
import type { JsonSchema } from '../structural/json-schema.ts';
import { budgetOfRules, RuleEvaluation } from './evaluate-rules.ts';
import { rulesOf, rulesOfPart } from './rule-tree.ts';

interface DefaultRuleCheck {
  readonly json: JsonSchema;
  readonly schema: StructSchema;
  readonly path: string;
  /** See `EvaluationOptions`. */
  readonly inline?: boolean | undefined;
  /** Errors that defaults have besides. Rules of such a default are not evaluated. */
  readonly ofDefaults: readonly FieldError[];
}

const isWithin = (field: string, path: string): boolean =>
  field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`);

/**
 * Evaluates the rules of defaults and adds what they break to `errors`; may be left alone between steps. A default must satisfy
 * its rules both when it replaces itself and when it replaces nothing, as in kube-apiserver. All defaults share the budget of one
 * object.
 */
export function* checkDefaultRules(check: DefaultRuleCheck, errors: FieldError[]): Generator<void, void> {
  const { inline } = check;
  const budget = budgetOfRules(inline);
  for (const { schema, initial, at } of defaultsIn(check)) {
    const tree = schema === check.schema ? rulesOf(schema) : rulesOfPart(schema);
    yield;
    if (!tree || check.ofDefaults.some(({ field }) => isWithin(field, at))) continue;
    for (const old of [initial, undefined]) {
      const evaluation = new RuleEvaluation({ old, budget, inline, path: at });
      yield* evaluation.steps(tree, initial);
      errors.push(...evaluation.errors);
      if (evaluation.isOver || errors.length >= limits.findingsMax) return;
      if (evaluation.errors.length > 0) break;
    }
  }
}
