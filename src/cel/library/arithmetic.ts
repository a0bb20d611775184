import { concatenate } from '../equality.ts';
import { CelFault } from '../fault.ts';
import { costPerCharacter } from '../meter.ts';
import { define } from '../overload.ts';
import { boolType, bytesType, doubleType, intType, listType, paramType, stringType, uintType } from '../type.ts';
import { CelUint, intMax, intMin } from '../value.ts';

/** Returns the value if it fits into a 64-bit int, otherwise throws a fault. */
export function int(value: bigint): bigint {
  if (value < intMin || value > intMax) throw new CelFault('integer overflow');
  return value;
}

export function uint(value: bigint): CelUint {
  if (value < 0n || value >= 2n ** 64n) throw new CelFault('unsigned integer overflow');
  return new CelUint(value);
}

function divisor(value: bigint, operation: 'division' | 'modulus'): bigint {
  if (value === 0n) throw new CelFault(`${operation} by zero`);
  return value;
}

const ints = (name: string, compute: (a: bigint, b: bigint) => bigint) => [
  define(name, [intType, intType], intType, (a: bigint, b: bigint) => int(compute(a, b))),
  define(name, [uintType, uintType], uintType, (a: CelUint, b: CelUint) => uint(compute(a.value, b.value))),
];

const doubles = (name: string, compute: (a: number, b: number) => number) =>
  define(name, [doubleType, doubleType], doubleType, compute);

const joinCost = (a: { readonly length: number }, b: { readonly length: number }): number =>
  Math.ceil((a.length + b.length) * costPerCharacter);

const T = listType(paramType('T'));

/** langdef, "Arithmetic": overflow of 64 bits is a fault. */
export const arithmetic = [
  ...ints('_+_', (a, b) => a + b),
  ...ints('_-_', (a, b) => a - b),
  ...ints('_*_', (a, b) => a * b),
  ...ints('_/_', (a, b) => a / divisor(b, 'division')),
  ...ints('_%_', (a, b) => a % divisor(b, 'modulus')),
  doubles('_+_', (a, b) => a + b),
  doubles('_-_', (a, b) => a - b),
  doubles('_*_', (a, b) => a * b),
  doubles('_/_', (a, b) => a / b),
  define('-_', [intType], intType, (a: bigint) => int(-a)),
  define('-_', [doubleType], doubleType, (a: number) => -a),
  define('!_', [boolType], boolType, (a: boolean) => !a),
  define('_+_', [stringType, stringType], stringType, (a: string, b: string) => a + b, joinCost),
  define(
    '_+_',
    [bytesType, bytesType],
    bytesType,
    (a: Uint8Array, b: Uint8Array) => new Uint8Array(Buffer.concat([a, b])),
    joinCost,
  ),
  define('_+_', [T, T], T, concatenate),
];
