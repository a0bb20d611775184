import { errorsOfEach, type FieldError, invalid } from '../../meta/field-error.ts';
import { isDataKey } from '../../schema/formats.ts';

/** Checks the keys of the data of a ConfigMap or Secret: they become file names. */
export const validateDataKeys = (data: Readonly<Record<string, unknown>>, field: string): FieldError[] =>
  errorsOfEach(Object.keys(data), (key) => isDataKey(key).map((problem) => invalid(`${field}[${key}]`, key, problem)));
