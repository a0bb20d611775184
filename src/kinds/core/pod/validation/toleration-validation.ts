import { errorsOfEach, type FieldError, invalid, notSupported, notSupportedOf } from '../../../../meta/field-error.ts';
import { isLabelValue, isQualifiedName } from '../../../../meta/formats.ts';
import type { Toleration } from '../toleration.ts';
import { failing } from './field-checks.ts';

export const validateTolerations = (tolerations: readonly Toleration[], path: string): FieldError[] =>
  errorsOfEach(tolerations, (toleration, index) => validateToleration(toleration, `${path}[${index}]`));

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function validateToleration(toleration: Toleration, path: string): FieldError[] {
  const { key, operator = '', value = '', effect = '', tolerationSeconds } = toleration;
  const anyKey = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
  const onlyEvicting = "effect must be 'NoExecute' when `tolerationSeconds` is set";
  return [
    ...(key === undefined ? [] : failing(isQualifiedName, `${path}.key`, key)),
    ...(key === undefined && operator !== 'Exists' ? [invalid(`${path}.operator`, operator, anyKey)] : []),
    ...(tolerationSeconds !== undefined && effect !== 'NoExecute'
      ? [invalid(`${path}.effect`, effect, onlyEvicting)]
      : []),
    ...validateOperator(operator, value, `${path}.operator`),
    ...(effect === '' || effects.includes(effect) ? [] : [notSupportedOf(`${path}.effect`, effect, effects)]),
  ];
}

function validateOperator(operator: string, value: string, field: string): FieldError[] {
  switch (operator) {
    case '':
    case 'Equal':
      return failing(isLabelValue, field, value);
    case 'Exists':
      return value === '' ? [] : [invalid(field, value, "value must be empty when `operator` is 'Exists'")];
    default:
      return [notSupported(field, operator, ['Equal', 'Exists'])];
  }
}
