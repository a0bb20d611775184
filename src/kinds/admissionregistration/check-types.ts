import { limits } from '../../base/limits.ts';
import type { Steps } from '../../base/time/in-slices.ts';
import type { CelType } from '../../cel/type.ts';
import { ExpressionCompiler } from './expressions.ts';
import type { ValidatingPolicySpec, ValidatingPolicyStatus } from './validating-policy-schema.ts';

/** The types for which expressions are checked. */
export interface PolicyTypes {
  /** Of `object` and `oldObject`, one after the other. `text` names one in warnings. */
  readonly objects: readonly { readonly text: string; readonly type: CelType }[];
  /** Absent if it is unknown. */
  readonly params?: CelType | undefined;
}

type ExpressionWarning = NonNullable<NonNullable<ValidatingPolicyStatus['typeChecking']>['expressionWarnings']>[number];

/**
 * What is wrong with the expressions of a policy for objects of these types (KEP-3488, "Type Checking"): those of validations
 * and of their messages, and in them the variables as far as they are used. Conditions and annotations are not checked, as
 * published. Warnings beyond `limits.policyWarningsTextMax` are left out. There is a pause between two compilations.
 */
export function* checkTypes(spec: ValidatingPolicySpec, { objects, params }: PolicyTypes): Steps<readonly ExpressionWarning[]> {
  const { paramKind, variables = [], validations = [] } = spec;
  const compilers: ExpressionCompiler[] = [];
  for (const { type } of objects) {
    const types = { object: type, ...(params && { params }) };
    const compiler = new ExpressionCompiler({ hasParams: paramKind !== undefined, hasVariables: true, types });
    for (const { name, expression } of variables) {
      yield* compiler.addVariable(name ?? '', expression ?? '');
      yield;
    }
    compilers.push(compiler);
  }
  const warnings: ExpressionWarning[] = [];
  let room: number = limits.policyWarningsTextMax;
  for (const [path, source] of expressionsOf(validations)) {
    const found: string[] = [];
    for (const [index, compiler] of compilers.entries()) {
      const error = yield* compiler.typeError(source);
      if (error !== undefined) found.push(`${objects[index]?.text}: ${error}\n`);
      yield;
    }
    if (found.length === 0) continue;
    const warning = found.join('\n');
    room -= warning.length;
    if (room < 0) break;
    warnings.push({ fieldRef: path, warning });
  }
  return warnings;
}

function* expressionsOf(validations: NonNullable<ValidatingPolicySpec['validations']>): Generator<readonly [path: string, source: string]> {
  for (const [index, { expression = '', messageExpression = '' }] of validations.entries()) {
    yield [`spec.validations[${index}].expression`, expression];
    if (messageExpression !== '') yield [`spec.validations[${index}].messageExpression`, messageExpression];
  }
}
