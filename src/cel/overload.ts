import type { Meter } from './meter.ts';
import type { CelType } from './type.ts';
import {
  CelDuration,
  CelMap,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  isList,
} from './value.ts';

/** One signature of a function, with its implementation. */
export interface Overload {
  /** `size`, `_+_`, `sets.contains`. */
  readonly name: string;
  /** Called with a receiver: `text.size()`. */
  readonly member: boolean;
  readonly params: readonly CelType[];
  readonly result: CelType;
  /**
   * Called with arguments of the types in `params`, followed by the meter. Elements of lists and maps can be of any
   * type, because they may come from data whose type is only known at evaluation. Throws CelFault.
   */
  readonly run: (...args: never[]) => CelValue;
  /** Charged before `run`, which charges any further cost itself. Default: 1. */
  readonly cost?: Cost;
  /** The cost is no work: others are asked. */
  readonly asksOthers?: true;
}

type Cost = (...args: never[]) => number;

export const define = (
  name: string,
  params: readonly CelType[],
  result: CelType,
  run: Overload['run'],
  cost?: Cost,
): Overload => ({ name, member: false, params, result, run, ...(cost && { cost }) });

/** A function called on a receiver of the type of its first parameter. */
export const defineMethod = (
  name: string,
  params: readonly CelType[],
  result: CelType,
  run: Overload['run'],
  cost?: Cost,
): Overload => ({ ...define(name, params, result, run, cost), member: true });

export function runOverload(overload: Overload, args: readonly CelValue[], meter: Meter): CelValue {
  const { cost, run, asksOthers } = overload;
  const price = cost === undefined ? 1 : (cost as (...args: readonly CelValue[]) => number)(...args);
  if (asksOthers) meter.charge(price);
  else meter.spend(price);
  return (run as (...args: readonly (CelValue | Meter)[]) => CelValue)(...args, meter);
}

/** Whether the values have the parameters' types; elements are not checked. */
export const acceptsAll = (overload: Overload, args: readonly CelValue[]): boolean =>
  overload.params.every((param, index) => accepts(param, args[index] as CelValue));

function accepts(type: CelType, value: CelValue): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'param':
      return true;
    case 'bool':
      return typeof value === 'boolean';
    case 'int':
      return typeof value === 'bigint';
    case 'double':
      return typeof value === 'number';
    case 'string':
      return typeof value === 'string';
    case 'null_type':
      return value === null;
    default:
      return acceptsObject(type, value);
  }
}

function acceptsObject(type: CelType, value: CelValue): boolean {
  switch (type.kind) {
    case 'uint':
      return value instanceof CelUint;
    case 'bytes':
      return value instanceof Uint8Array;
    case 'list':
      return isList(value);
    case 'map':
    case 'struct':
      return value instanceof CelMap;
    case 'optional':
      return value instanceof CelOptional;
    case 'duration':
      return value instanceof CelDuration;
    case 'timestamp':
      return value instanceof CelTimestamp;
    case 'type':
      return value instanceof CelTypeValue;
    default:
      return type.kind === 'opaque' && value instanceof CelOpaque && value.typeName === type.name;
  }
}
