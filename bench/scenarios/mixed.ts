import { ApiLoad } from '../api-load.ts';
import type { LoadResult } from '../load.ts';
import { type Row, shortNumber } from '../report.ts';
import type { Scenario } from '../scenario.ts';
import { percentile, statsOf } from '../stats.ts';

type Results = Awaited<ReturnType<ApiLoad['mixed']>>;

/** Reads, pages and writes at once, with watches of all that is written: how long each of them takes beside the others. */
export const mixed: Scenario = {
  name: 'mixed',
  async run(context) {
    await using product = await context.start();
    const load = new ApiLoad(product, 'mixed');
    await load.fill();
    context.progress('a mixed load, beside watches');
    await load.watch(1);
    const rounds: Results[] = [];
    for (let round = 0; round <= context.scale.rounds; round++) {
      rounds.push(await load.mixed({ durationMs: 2 * context.scale.roundMs }));
    }
    await load.clear();
    const [, ...counted] = rounds;
    const names = Object.keys(counted[0] ?? {}) as (keyof Results)[];
    return names.map((name) =>
      rowOf(
        name,
        counted.map((round) => round[name]),
      ),
    );
  },
};

function rowOf(name: string, results: readonly LoadResult[]): Row {
  const latency = [50, 90, 99, 99.9].map((percent) => {
    const { median } = statsOf(results.map(({ latencyMs }) => percentile(latencyMs, percent)));
    return `p${percent} ${shortNumber(median)}`;
  });
  return {
    what: `mixed load: ${name}`,
    unit: '/s',
    measured: statsOf(results.map(({ requests, seconds }) => requests / seconds)),
    notes: [`latency ${latency.join(', ')} ms`],
  };
}
