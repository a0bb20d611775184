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

interface CompareOptions {
  readonly rounds: number;
  product(): Promise<Sample>;
  ceiling(): Promise<Sample>;
}

/** Runs both sides in turns, as `takeTurns` does. */
export async function compare({ rounds, product, ceiling }: CompareOptions): Promise<Compared> {
  const [ours = [], bare = []] = await takeTurns(rounds, [product, ceiling]);
  return {
    product: ratesOf(ours),
    ceiling: ratesOf(bare),
    ratio: ratioTo(ours, bare),
    productCpuMicros: medianCpu(ours),
    ceilingCpuMicros: medianCpu(bare),
  };
}

/**
 * Runs sides in turns, so that all meet the same noise of the machine. The first round of each is for warming up and counts
 * nowhere. Gives the rounds of each side, in the order of the sides.
 */
export async function takeTurns(
  rounds: number,
  sides: readonly (() => Promise<Sample>)[],
): Promise<readonly (readonly Sample[])[]> {
  const samples = sides.map((): Sample[] => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [index, side] of sides.entries()) {
      const sample = await side();
      if (round > 0) samples[index]?.push(sample);
    }
  }
  return samples;
}

export const ratesOf = (samples: readonly Sample[]): Stats => statsOf(samples.map(({ rate }) => rate));

/** Of each round of one side to the same round of another. */
export const ratioTo = (samples: readonly Sample[], others: readonly Sample[]): Stats =>
  statsOf(samples.map(({ rate }, round) => rate / (others[round]?.rate ?? Number.NaN)));

export function medianCpu(samples: readonly Sample[]): number | undefined {
  const known = samples.flatMap(({ cpuMicros }) => (cpuMicros === undefined ? [] : [cpuMicros]));
  return known.length === 0 ? undefined : statsOf(known).median;
}
