import { expressionTypes } from '../dialect/expression-types.ts';
import { costPerCharacter, costPerPatternCharacter } from './meter.ts';
import { product, type Size, sum, times, unknownSize } from './size.ts';
import type { Expr } from './syntax.ts';
import { type CelType, typeName } from './type.ts';

/** An operand of a call: the receiver first, if it has one. */
export interface Operand {
  readonly expr: Expr;
  readonly type: CelType;
  readonly size: Size;
  /** As `size`, where nothing known of the type counts: a scalar has no size of its own. */
  readonly looseSize: Size;
  /** Of the result of a call, if more is known of it than its type. */
  readonly callSize: Size | undefined;
  /** Of the elements of a list. */
  readonly elementSize: Size;
}

export interface CallCost {
  readonly max: number;
  /** Of the result, if more is known of it than its type. */
  readonly size?: Size;
}

/** The type of the parameter that tells overloads of an operator apart. */
type ParamKind = CelType['kind'];

/** Length of the names of formats, as kube-apiserver assumes. */
const formatNameLength = 64;
/** Length of the patterns of named formats, as kube-apiserver assumes. */
const formatPatternLength = 128;

/** Cost of traversing a text or a list this long. */
const traversal = (length: number, factor = costPerCharacter): number => Math.ceil(times(length, factor));

type Rule = (operands: readonly [Operand, ...Operand[]], kind: ParamKind | undefined) => CallCost;

const one: CallCost = { max: 1 };
const loose = (operand: Operand | undefined): Size => operand?.looseSize ?? unknownSize;
const sizeOf = (operand: Operand | undefined): Size => operand?.size ?? unknownSize;

const scan: Rule = ([text]) => ({ max: traversal(text.looseSize.max) });
const scanToText: Rule = ([text]) => ({ max: traversal(text.looseSize.max), size: text.looseSize });

const scanList: Rule = ([list]) => {
  const { type, looseSize, elementSize } = list;
  if (type.kind !== 'list') return { max: traversal(looseSize.max) };
  const isText = type.element.kind === 'string' || type.element.kind === 'bytes';
  return { max: times(looseSize.max, 1 + (isText ? traversal(elementSize.max) : 0)) };
};

function matching(text: Size, pattern: Size): number {
  return times(traversal(text.max + 1), traversal(pattern.max, costPerPatternCharacter));
}

const find: Rule = ([text, pattern]) => ({
  max: matching(text.looseSize, loose(pattern)),
  size: { min: 0, max: text.looseSize.max },
});

/** As many replacements of the shortest possible text by the longest possible one as fit in. */
const replace: Rule = ([text, from, to]) => ({
  max: traversal(text.looseSize.max, 2 * costPerCharacter),
  size: replaced(text.looseSize, loose(from), loose(to)),
});

function replaced(text: Size, from: Size, to: Size): Size {
  const most =
    from.min === 0
      ? { count: text.max + 1, kept: text.max }
      : to.max <= from.min
        ? { count: 0, kept: text.max }
        : { count: Math.ceil(text.max / from.min), kept: 0 };
  const least =
    from.max === 0
      ? { count: text.min + 1, kept: text.min }
      : from.max <= to.min
        ? { count: 0, kept: text.min }
        : { count: Math.ceil(text.min / from.max), kept: 0 };
  return { min: times(least.count, to.min) + least.kept, max: times(most.count, to.max) + most.kept };
}

const split: Rule = ([text, , limit]) => {
  const given = limit?.expr.kind === 'literal' && typeof limit.expr.value === 'bigint' ? limit.expr.value : undefined;
  // A negative limit is none.
  const max = given === undefined || given < 0n ? text.looseSize.max : Number(given);
  return { max: traversal(text.looseSize.max, 2 * costPerCharacter), size: { min: 0, max } };
};

const join: Rule = ([list, separator]) => {
  const parts = product(list.looseSize, list.elementSize);
  const { min, max } = list.looseSize;
  const between = { min: Math.max(0, min - 1), max: Math.max(0, max - 1) };
  const size = separator ? sum(parts, product(separator.looseSize, between)) : parts;
  return { max: traversal(size.max), size };
};

const compare: Rule = ([left, right]) => ({ max: traversal(Math.min(left.size.max, sizeOf(right).max)) });
const compareByKind: Rule = (operands, kind) => (kind === 'string' || kind === 'bytes' ? compare(operands, kind) : one);

const add: Rule = ([left, right], kind) => {
  const size = sum(left.size, sizeOf(right));
  if (kind === 'param') return { max: 1, size };
  return kind === 'string' || kind === 'bytes' ? { max: traversal(size.max), size } : one;
};

const setOperation =
  (factor: number): Rule =>
  ([left, right]) => ({ max: 1 + times(times(left.looseSize.max, loose(right).max), factor) });

/** Networks are compared by at most 16 bytes. */
const networkCost = traversal(32);
const parsed = (operand: Operand | undefined): number =>
  operand?.type.kind === 'string' ? traversal(operand.looseSize.max) : 0;

const conversion: Rule = ([value], kind) => {
  if (kind !== 'bytes') return one;
  return { max: traversal(value.size.max), size: { min: Math.floor(value.size.min / 4), max: value.size.max } };
};

/** By name; other functions cost 1. */
const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'].map((name) => [name, scanList] as const),
  ...['url', 'lowerAscii', 'upperAscii', 'substring', 'trim'].map((name) => [name, scanToText] as const),
  ...['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity'].map((name) => [name, scan] as const),
  ['ip', (operands) => (operands[0].type.kind === 'string' ? scan(operands, undefined) : one)],
  ['ip.isCanonical', ([text]) => ({ max: traversal(text.looseSize.max, 2 * costPerCharacter) })],
  ['containsIP', ([, other]) => ({ max: networkCost + parsed(other) })],
  ['containsCIDR', ([, other]) => ({ max: networkCost + traversal(16) + 1 + parsed(other) })],
  [
    'validate',
    ([, text]) => ({ max: traversal(traversal(loose(text).max), formatPatternLength * costPerPatternCharacter) }),
  ],
  ['replace', replace],
  ['split', split],
  ['join', join],
  ['find', find],
  ['findAll', find],
  ['sets.contains', setOperation(1)],
  ['sets.intersects', setOperation(1)],
  ['sets.equivalent', setOperation(2)],
  ['format', ([text]) => ({ max: traversal(text.size.max) })],
  [
    'strings.quote',
    ([text]) => ({ max: traversal(text.size.max), size: { min: text.size.min + 2, max: text.size.max * 2 + 2 } }),
  ],
  [
    'bytes',
    ([text], kind) =>
      kind === 'string' ? { max: traversal(text.size.max), size: { min: text.size.min, max: text.size.max * 4 } } : one,
  ],
  ['string', conversion],
  ['startsWith', ([, affix]) => ({ max: traversal(sizeOf(affix).max) })],
  ['endsWith', ([, affix]) => ({ max: traversal(sizeOf(affix).max) })],
  ['contains', ([text, part]) => ({ max: times(traversal(text.size.max), traversal(sizeOf(part).max)) })],
  ['_+_', add],
  ...['_<_', '_<=_', '_>_', '_>=_'].map((name) => [name, compareByKind] as const),
]);

/** Receivers make a difference: `matches(a, b)` costs 1 in kube-apiserver, `a.matches(b)` does not. */
const memberRules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['matches', ([text, pattern]) => ({ max: matching(text.size, sizeOf(pattern)) })],
]);

interface Signature {
  readonly name: string;
  readonly member: boolean;
  /** Of the first parameter, and of the second. */
  readonly params: readonly CelType[];
}

/** The most that a call of one overload costs, besides its operands. Facts: cel-go, and its extensions in kube-apiserver. */
export function callCost({ name, member, params }: Signature, operands: readonly Operand[]): CallCost {
  const [first, ...others] = operands;
  if (!first) return one;
  const all = [first, ...others] as const;
  if (name === '_==_' || name === '_!=_') return isOpaque(all) ? compareOpaque(all) : compare(all, undefined);
  if (name === '_in_') return params[1]?.kind === 'list' ? { max: sizeOf(others[0]).max } : one;
  const rule = (member ? memberRules.get(name) : undefined) ?? rules.get(name);
  return rule ? rule(all, paramKind(params[0])) : one;
}

/** Lists are added by an overload for any type. */
const paramKind = (type: CelType | undefined): ParamKind | undefined => (type?.kind === 'list' ? 'param' : type?.kind);

const isOpaque = (operands: readonly Operand[]): boolean => operands.every(({ type }) => type.kind === 'opaque');

/** URLs count as their text if its size is known. */
function compareOpaque([{ type }, right]: readonly [Operand, ...Operand[]]): CallCost {
  switch (typeName(type)) {
    case expressionTypes.format:
      return { max: traversal(formatNameLength) };
    case expressionTypes.url:
      return right?.callSize ? { max: traversal(right.callSize.max) } : one;
    default:
      return one;
  }
}
