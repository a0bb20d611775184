/** Number of decimal digits of a non-negative integer. */
export function decimalDigits(integer: number): number {
  let digits = 1;
  for (let rest = integer; rest >= 10; rest = Math.floor(rest / 10)) digits++;
  return digits;
}
