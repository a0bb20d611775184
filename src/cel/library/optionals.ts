import { CelFault } from '../fault.ts';
import { define, defineMethod } from '../overload.ts';
import { boolType, optionalType, paramType } from '../type.ts';
import { CelMap, CelOptional, CelUint, type CelValue, isList, optionalOf } from '../value.ts';

const T = paramType('T');
const optional = optionalType(T);

/** Whether the value is the zero value of its type: zero, null, an empty list. */
function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === 0 || value === 0n || value === '') return true;
  if (isList(value) || value instanceof Uint8Array) return value.length === 0;
  if (value instanceof CelMap) return value.size === 0;
  return value instanceof CelUint && value.value === 0n;
}

/** The extension for optional values; selection and `optMap` are part of the syntax. */
export const optionals = [
  define('optional.of', [T], optional, (value: CelValue) => optionalOf(value)),
  define('optional.ofNonZeroValue', [T], optional, (value: CelValue) =>
    isZero(value) ? CelOptional.none : optionalOf(value),
  ),
  define('optional.none', [], optional, () => CelOptional.none),
  defineMethod('hasValue', [optional], boolType, (value: CelOptional) => value.value !== undefined),
  defineMethod('value', [optional], T, ({ value }: CelOptional) => {
    if (value === undefined) throw new CelFault('optional.none() dereference');
    return value;
  }),
  defineMethod('or', [optional, optional], optional, (first: CelOptional, other: CelOptional) =>
    first.value === undefined ? other : first,
  ),
  defineMethod('orValue', [optional, T], T, (first: CelOptional, other: CelValue) =>
    first.value === undefined ? other : first.value,
  ),
];
