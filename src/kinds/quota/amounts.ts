import { addQuantity, compareQuantity, formatQuantity, parseQuantity, type Quantity } from '../../meta/quantity.ts';

/** An amount of each of some resources. */
export type Amounts = ReadonlyMap<string, Quantity>;

/** A list of resources as objects have it. Amounts that cannot be read are left out. */
export function amountsOf(list: Readonly<Record<string, string>> | undefined): Amounts {
  const amounts = new Map<string, Quantity>();
  for (const [name, text] of Object.entries(list ?? {})) {
    const quantity = parseQuantity(text);
    if (quantity) amounts.set(name, quantity);
  }
  return amounts;
}

/** As objects have it. */
export const textsOf = (amounts: Amounts): Record<string, string> => Object.fromEntries([...amounts].map(([name, quantity]) => [name, formatQuantity(quantity)]));

/** How much of each: `pods=1,requests.cpu=500m`. */
export const describeAmounts = (amounts: Amounts): string =>
  [...amounts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, quantity]) => `${name}=${formatQuantity(quantity)}`)
    .join(',');

/** So many objects. */
export const objects = (count: number | bigint): Quantity => ({ nanos: BigInt(count) * 10n ** 9n, family: 'decimal' });

/** Adds in place. */
export function addTo(sum: Map<string, Quantity>, added: Amounts): void {
  for (const [name, quantity] of added) {
    const before = sum.get(name);
    sum.set(name, before ? addQuantity(before, quantity) : quantity);
  }
}

/** Raises each amount to the other one, in place. */
export function raiseTo(most: Map<string, Quantity>, other: Amounts): void {
  for (const [name, quantity] of other) {
    const before = most.get(name);
    if (!before || compareQuantity(quantity, before) > 0) most.set(name, quantity);
  }
}

export function sumOf(a: Amounts, b: Amounts): Amounts {
  const sum = new Map(a);
  addTo(sum, b);
  return sum;
}

/** What `a` is more than `b`, without what is not more. */
export function excess(a: Amounts, b: Amounts): Amounts {
  const more = new Map<string, Quantity>();
  for (const [name, { nanos, family }] of a) {
    const rest = nanos - (b.get(name)?.nanos ?? 0n);
    if (rest > 0n) more.set(name, { nanos: rest, family });
  }
  return more;
}

/** Only the amounts of these resources. */
export const among = (amounts: Amounts, names: { has(name: string): boolean }): Amounts => new Map([...amounts].filter(([name]) => names.has(name)));

export const isNegative = ({ nanos }: Quantity): boolean => nanos < 0n;

export const equalAmounts = (a: Amounts, b: Amounts): boolean => a.size === b.size && [...a].every(([name, { nanos }]) => b.get(name)?.nanos === nanos);
