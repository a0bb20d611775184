import { expressionTypes } from '../../dialect/expression-types.ts';
import { addQuantity, compareQuantity, parseQuantity, type Quantity, subtractQuantity } from '../../meta/quantity.ts';
import { CelFault } from '../fault.ts';
import { costPerCharacter } from '../meter.ts';
import { define, defineMethod } from '../overload.ts';
import { boolType, doubleType, intType, opaqueType, stringType } from '../type.ts';
import { CelOpaque, intMax, intMin } from '../value.ts';

const nanosPerUnit = 1_000_000_000n;

/** A resource.Quantity; those of the same value are equal, whatever their unit. */
class CelQuantity extends CelOpaque {
  readonly typeName = expressionTypes.quantity;
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  get text(): string {
    return String(this.quantity.nanos);
  }

  /** Undefined if the value is no 64-bit integer. */
  get integer(): bigint | undefined {
    const { nanos } = this.quantity;
    const units = nanos / nanosPerUnit;
    return nanos % nanosPerUnit === 0n && units >= intMin && units <= intMax ? units : undefined;
  }
}

function quantity(text: string): CelQuantity {
  const parsed = parseQuantity(text);
  if (!parsed) throw new CelFault('quantities must match the regular expression of a quantity');
  return new CelQuantity(parsed);
}

function asInteger({ integer }: CelQuantity): bigint {
  if (integer === undefined) throw new CelFault('cannot convert value to integer');
  return integer;
}

const ofInteger = (units: bigint): Quantity => ({ nanos: units * nanosPerUnit, family: 'exponent' });
const compare = (a: CelQuantity, b: CelQuantity): number => compareQuantity(a.quantity, b.quantity);
const traversal = (text: string): number => Math.ceil(text.length * costPerCharacter);
const sign = ({ quantity: { nanos } }: CelQuantity): bigint => BigInt(Number(nanos > 0n) - Number(nanos < 0n));

const [Q, I, S] = [opaqueType(expressionTypes.quantity), intType, stringType];

/** The quantity extension of kube-apiserver. */
export const quantities = [
  define('quantity', [S], Q, quantity, traversal),
  define('isQuantity', [S], boolType, (text: string) => parseQuantity(text) !== undefined, traversal),
  define('sign', [Q], I, sign),
  defineMethod('sign', [Q], I, sign),
  defineMethod('isInteger', [Q], boolType, ({ integer }: CelQuantity) => integer !== undefined),
  defineMethod('asInteger', [Q], I, asInteger),
  defineMethod('asApproximateFloat', [Q], doubleType, ({ quantity: { nanos } }: CelQuantity) => Number(nanos) / 1e9),
  defineMethod('isGreaterThan', [Q, Q], boolType, (a: CelQuantity, b: CelQuantity) => compare(a, b) > 0),
  defineMethod('isLessThan', [Q, Q], boolType, (a: CelQuantity, b: CelQuantity) => compare(a, b) < 0),
  defineMethod('compareTo', [Q, Q], I, (a: CelQuantity, b: CelQuantity) => BigInt(compare(a, b))),
  defineMethod(
    'add',
    [Q, Q],
    Q,
    (a: CelQuantity, b: CelQuantity) => new CelQuantity(addQuantity(a.quantity, b.quantity)),
  ),
  defineMethod('add', [Q, I], Q, (a: CelQuantity, b: bigint) => new CelQuantity(addQuantity(a.quantity, ofInteger(b)))),
  defineMethod(
    'sub',
    [Q, Q],
    Q,
    (a: CelQuantity, b: CelQuantity) => new CelQuantity(subtractQuantity(a.quantity, b.quantity)),
  ),
  defineMethod(
    'sub',
    [Q, I],
    Q,
    (a: CelQuantity, b: bigint) => new CelQuantity(subtractQuantity(a.quantity, ofInteger(b))),
  ),
];
