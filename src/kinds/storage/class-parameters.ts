import { limits } from '../../base/limits.ts';
import { type FieldError, invalid, required, tooLong } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';

/** The name of the driver of a class: a qualified name, in which capital letters are allowed. */
export function validateClassDriver(name: string, field: string): FieldError[] {
  if (name === '') return [required(field)];
  const lower = name.toLowerCase();
  return isQualifiedName(lower).map((problem) => invalid(field, lower, problem));
}

/** What a class tells its driver. */
export function validateParameters(parameters: Readonly<Record<string, string>>, field: string): FieldError[] {
  const entries = Object.entries(parameters);
  if (entries.length > limits.classParametersMax) return [tooLong(field, limits.classParametersMax)];
  let size = 0;
  for (const [key, value] of entries) size += Buffer.byteLength(key) + Buffer.byteLength(value);
  return [
    ...(Object.hasOwn(parameters, '') ? [invalid(field, '', 'field can not be empty.')] : []),
    ...(size > limits.classParametersBytesMax ? [tooLong(field, limits.classParametersBytesMax)] : []),
  ];
}
