import { errorsOfEach, type FieldError, invalid } from '../../meta/field-error.ts';
import { isDataKey } from '../../meta/formats.ts';

/** Validates the data keys of a ConfigMap or Secret, which become file names in volumes. */
export const validateDataKeys = (data: Readonly<Record<string, unknown>>, field: string): FieldError[] =>
  errorsOfEach(Object.keys(data), (key) => isDataKey(key).map((problem) => invalid(`${field}[${key}]`, key, problem)));
