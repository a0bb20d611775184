export interface Stats {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** Throws where there is no value. */
export function statsOf(values: readonly number[]): Stats {
  const sorted = Float64Array.from(values).sort();
  return { min: at(sorted, 0), median: percentile(sorted, 50), max: at(sorted, sorted.length - 1) };
}

/** The smallest value that `percent` of all values do not exceed; of two middle values the mean. */
export function percentile(sorted: Float64Array, percent: number): number {
  if (percent === 50 && sorted.length % 2 === 0) {
    return (at(sorted, sorted.length / 2 - 1) + at(sorted, sorted.length / 2)) / 2;
  }
  return at(sorted, Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1));
}

function at(values: Float64Array, index: number): number {
  const value = values[index];
  if (value === undefined) throw new Error('no value was measured');
  return value;
}
