import { type Stats, statsOf } from './stats.ts';

/** One round of one side. */
export interface Sample {
  /** In the unit of the row: larger is faster. */
  readonly rate: number;
  /** CPU that the side that answers used, where it is known: microseconds for each operation. */
  readonly cpuMicros?: number;
}

export interface Compared {
  readonly product: Stats;
  readonly ceiling: Stats;
  /** Of each round of the product to the round of the ceiling after it, which met the same noise of the machine. */
  readonly ratio: Stats;
  readonly productCpuMicros: number | undefined;
  readonly ceilingCpuMicros: number | undefined;
}

export interface CompareOptions {
  readonly rounds: number;
  product(): Promise<Sample>;
  ceiling(): Promise<Sample>;
}

/** Runs both sides in turns. The first round of each is for warming up and counts nowhere. */
export async function compare({ rounds, product, ceiling }: CompareOptions): Promise<Compared> {
  const pairs: { readonly product: Sample; readonly ceiling: Sample }[] = [];
  for (let round = 0; round <= rounds; round++) {
    const pair = { product: await product(), ceiling: await ceiling() };
    if (round > 0) pairs.push(pair);
  }
  return {
    product: statsOf(pairs.map((pair) => pair.product.rate)),
    ceiling: statsOf(pairs.map((pair) => pair.ceiling.rate)),
    ratio: statsOf(pairs.map((pair) => pair.product.rate / pair.ceiling.rate)),
    productCpuMicros: medianCpu(pairs.map((pair) => pair.product)),
    ceilingCpuMicros: medianCpu(pairs.map((pair) => pair.ceiling)),
  };
}

function medianCpu(samples: readonly Sample[]): number | undefined {
  const known = samples.flatMap(({ cpuMicros }) => (cpuMicros === undefined ? [] : [cpuMicros]));
  return known.length === 0 ? undefined : statsOf(known).median;
}
