import { type FieldError, invalid, required, tooLong } from '../../meta/field-error.ts';
import { isDnsSubdomain } from '../../meta/formats.ts';

const lengthMax = 63;

/** The name of a driver of the container storage interface. Capital letters are allowed. */
export const validateDriverName = (name: string, field: string): FieldError[] => [
  ...(name === '' ? [required(field)] : []),
  ...(Buffer.byteLength(name) > lengthMax ? [tooLong(field, lengthMax)] : []),
  ...isDnsSubdomain(name.toLowerCase()).map((problem) => invalid(field, name, problem)),
];
