import { errorsOfEach, type FieldError, invalid } from '../../../../meta/field-error.ts';
import { isLabelValue } from '../../../../meta/formats.ts';
import type { Toleration } from '../toleration.ts';
import { failing } from './field-checks.ts';

/** Rules across the fields of a toleration. The schema checks each field. */
export const validateTolerations = (tolerations: readonly Toleration[], path: string): FieldError[] =>
  errorsOfEach(tolerations, (toleration, index) => validateToleration(toleration, `${path}[${index}]`));

function validateToleration(toleration: Toleration, path: string): FieldError[] {
  const { key, operator = 'Equal', value = '', effect = '', tolerationSeconds } = toleration;
  const errors: FieldError[] = [];
  if (key === undefined && operator !== 'Exists') {
    const rule = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    errors.push(invalid(`${path}.operator`, toleration.operator ?? '', rule));
  }
  if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
    errors.push(invalid(`${path}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
  }
  if (operator === 'Equal') errors.push(...failing(isLabelValue, `${path}.operator`, value));
  if (operator === 'Exists' && value !== '') {
    errors.push(invalid(`${path}.operator`, value, "value must be empty when `operator` is 'Exists'"));
  }
  return errors;
}
