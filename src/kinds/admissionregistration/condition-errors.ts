import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../base/limits.ts';
import { duplicate, errorsOfEach, type FieldError, invalid, required, tooMany } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';
import type { ExpressionCheck } from './expression-errors.ts';
import type { MatchCondition } from './match-condition.ts';
import type { ParamKind } from './policy-schema.ts';

/** Errors of conditions, but for those of their expressions: see `conditionChecks`. */
export function conditionErrors(conditions: readonly MatchCondition[], path: string): FieldError[] {
  const names = new Set<string>();
  const errors = errorsOfEach(conditions, ({ name = '', expression = '' }, index) => {
    const at = `${path}[${index}]`;
    const isDuplicate = name !== '' && names.has(name);
    names.add(name);
    return [
      ...(expression.trim() === '' ? [required(`${at}.expression`)] : []),
      ...(name === '' ? [required(`${at}.name`)] : isQualifiedName(name).map((problem) => invalid(`${at}.name`, name, problem))),
      ...(isDuplicate ? [duplicate(`${at}.name`, name)] : []),
    ];
  });
  return conditions.length > limits.matchConditionsMax ? [tooMany(path, conditions.length, limits.matchConditionsMax), ...errors] : errors;
}

/** The expressions that must compile. None if there are too many: that is an error of its own. */
export const conditionChecks = (conditions: readonly MatchCondition[], path: string): readonly ExpressionCheck[] =>
  conditions.length > limits.matchConditionsMax
    ? []
    : conditions.flatMap(({ expression = '' }, index) => {
        const source = expression.trim();
        return source === '' ? [] : [{ path: `${path}[${index}].expression`, source, role: 'condition' }];
      });

/** Whether all conditions are as they were: then they are not looked at, as in published servers. */
export const sameConditions = (conditions: readonly (readonly MatchCondition[])[], stored: readonly (readonly MatchCondition[])[]): boolean => isDeepStrictEqual(plain(conditions), plain(stored));

const plain = (conditions: readonly (readonly MatchCondition[])[]) => conditions.map((list) => list.map(({ name, expression }) => [name, expression]));

interface Conditioned {
  readonly paramKind?: ParamKind;
  readonly matchConditions?: readonly MatchCondition[];
}

/** Whether a policy has the conditions that it had, about the same parameters. */
export const keepsConditions = (policy: Conditioned, stored: Conditioned): boolean =>
  isDeepStrictEqual(kindText(policy), kindText(stored)) && sameConditions([policy.matchConditions ?? []], [stored.matchConditions ?? []]);

const kindText = ({ paramKind }: Conditioned) => paramKind && [paramKind.apiVersion, paramKind.kind];
