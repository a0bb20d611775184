/** What metrics have counted, as plain data that other threads can add up, by name. */
export type MetricsState = ReadonlyMap<string, MetricState>;

export interface MetricState {
  /** It counts on when the server has gone that counted it. What was measured does not, nor what is of the process. */
  readonly outlives: boolean;
  readonly series: SeriesState;
}

/** The numbers of each series by rendered labels: a value, or a histogram's sum, count and buckets. */
export type SeriesState = ReadonlyMap<string, readonly number[]>;

/** Makes the numbers of a series from those that two have. */
export type Combine = (one: readonly number[], other: readonly number[]) => readonly number[];

export const sum: Combine = (one, other) => one.map((number, at) => number + (other[at] ?? 0));
export const largest: Combine = (one, other) => one.map((number, at) => Math.max(number, other[at] ?? 0));
/** Of values with the time at which they were set. */
export const latest: Combine = (one, other) => ((other[1] ?? 0) > (one[1] ?? 0) ? other : one);

/** All series that one of the states has. */
export function combined(states: readonly SeriesState[], combine: Combine): SeriesState {
  const all = new Map<string, readonly number[]>();
  for (const state of states) {
    for (const [labels, numbers] of state) {
      const before = all.get(labels);
      all.set(labels, before ? combine(before, numbers) : numbers);
    }
  }
  return all;
}

/** What two have counted that are gone. */
export function countedByBoth(one: MetricsState | undefined, other: MetricsState): MetricsState {
  const all = new Map(one);
  for (const [name, { outlives, series }] of other) {
    const before = all.get(name)?.series ?? new Map();
    if (outlives) all.set(name, { outlives, series: combined([before, series], sum) });
  }
  return all;
}
