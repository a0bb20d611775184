import { formatQuantity, parseQuantity, roundUpQuantity } from '../../meta/quantity.ts';

/** Rounds the amounts of a resource list up to thousandths, in place: finer ones are not stored. */
export function roundUpAmounts(amounts: Record<string, string> | undefined): void {
  for (const [name, amount] of Object.entries(amounts ?? {})) {
    const quantity = parseQuantity(amount);
    if (quantity && amounts) amounts[name] = formatQuantity(roundUpQuantity(quantity, -3));
  }
}
