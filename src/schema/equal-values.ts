import { isRecord } from './own-property.ts';

/** Deep equality of JSON values: field order is ignored, and a bigint equals the number of the same value. */
export function equalValues(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && equalLists(a, b);
  if (isRecord(a)) return isRecord(b) && equalRecords(a, b);
  return equalIntegers(a, b) || equalIntegers(b, a);
}

/** Converted both ways, so that rounding does not make different integers equal. */
const equalIntegers = (a: unknown, b: unknown): boolean =>
  typeof a === 'bigint' && typeof b === 'number' && Number(a) === b && BigInt(b) === a;

function equalLists(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((element, index) => equalValues(element, b[index]));
}

function equalRecords(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  let count = 0;
  for (const name in a) {
    count++;
    if (!Object.hasOwn(b, name) || !equalValues(a[name], b[name])) return false;
  }
  for (const _ in b) count--;
  return count === 0;
}
