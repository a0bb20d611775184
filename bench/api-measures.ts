import { randomUUID } from 'node:crypto';
import { ApiLoad, loadSizes } from './api-load.ts';
import type { LoadResult } from './load.ts';
import type { ApiSide } from './peer.ts';
import { type Row, shortNumber } from './report.ts';
import { ratesOf, ratioTo, type Sample, takeTurns } from './rounds.ts';
import type { BenchContext } from './scenario.ts';
import { percentile, statsOf } from './stats.ts';

const { objects, watchers, readers, lists } = loadSizes;

interface Measure {
  readonly what: string;
  readonly unit: string;
  round(load: ApiLoad, context: BenchContext): Promise<Sample & { readonly p99Ms?: number }>;
}

const measures: readonly Measure[] = [
  requests(`GET one object, ${readers} at once`, (load, bounds) => load.get(bounds)),
  requests(`LIST ${objects} objects, ${lists} at once`, (load, bounds) => load.list(bounds)),
  requests(`LIST with a selector that matches none of ${objects}, ${readers} at once`, (load, bounds) =>
    load.selectNothing(bounds),
  ),
  requests(`create, ${readers} clients`, (load, bounds) => load.create(bounds)),
  requests(`update (PUT), ${readers} clients`, (load, bounds) => load.update(bounds)),
  requests(`server-side apply of an unchanged object, ${readers} clients`, (load, bounds) =>
    load.applyUnchanged(bounds),
  ),
  {
    what: `${watchers} watchers, many events at once`,
    unit: 'deliveries/s',
    async round(load, { scale }) {
      const { deliveries, seconds } = await load.watch(scale.burstEvents);
      return { rate: deliveries / seconds };
    },
  },
];

type Bounds = Parameters<ApiLoad['get']>[0];

function requests(what: string, run: (load: ApiLoad, bounds: Bounds) => Promise<LoadResult>): Measure {
  return {
    what,
    unit: '/s',
    async round(load, { scale }) {
      const result = await run(load, { durationMs: scale.roundMs, requestsMax: scale.writesMax * 10 });
      return { rate: result.requests / result.seconds, p99Ms: percentile(result.latencyMs, 99) };
    },
  };
}

interface Compared {
  readonly ours: ApiSide;
  readonly theirs: ApiSide;
  /** Of the other side, in rows. */
  readonly name: string;
  /** Before what is measured. */
  readonly prefix?: string;
}

/** The same loads to two sides, in turns. What they make is removed. */
export async function besideRows(context: BenchContext, { ours, theirs, name, prefix = '' }: Compared): Promise<Row[]> {
  const namespace = `orch-bench-${randomUUID().slice(0, 8)}`;
  const [own, other] = [new ApiLoad(ours, namespace), new ApiLoad(theirs, namespace)];
  try {
    context.progress(`making ${objects} objects on both sides`);
    await own.fill();
    await other.fill();
    const rows: Row[] = [];
    for (const measure of measures) {
      rows.push(await rowOf(context, { ...measure, what: `${prefix}${measure.what}` }, { own, other, name }));
    }
    return rows;
  } finally {
    await Promise.allSettled([own.clear(), other.clear()]);
  }
}

interface Loads {
  readonly own: ApiLoad;
  readonly other: ApiLoad;
  readonly name: string;
}

async function rowOf(context: BenchContext, { what, unit, round }: Measure, { own, other, name }: Loads): Promise<Row> {
  context.progress(what);
  const p99Ms: Readonly<Record<'own' | 'other', number[]>> = { own: [], other: [] };
  const side = (load: ApiLoad, seen: number[]) => async (): Promise<Sample> => {
    const sample = await round(load, context);
    if (sample.p99Ms !== undefined) seen.push(sample.p99Ms);
    return sample;
  };
  const sides = [side(own, p99Ms.own), side(other, p99Ms.other)];
  const [measured = [], others = []] = await takeTurns(context.scale.rounds, sides);
  const rate = ratesOf(others);
  // As of rates, the first round does not count.
  const latency = (seen: readonly number[]): string =>
    seen.length === 0 ? '' : `, p99 ${shortNumber(statsOf(seen.slice(1)).median)} ms`;
  return {
    what,
    unit,
    measured: ratesOf(measured),
    beside: { ratio: ratioTo(measured, others), of: name },
    notes: [
      `${name}: ${shortNumber(rate.min)} / ${shortNumber(rate.median)} / ${shortNumber(rate.max)} ${unit}${latency(p99Ms.other)}`,
      ...(p99Ms.own.length > 0 ? [`here${latency(p99Ms.own)}`.replace(',', '')] : []),
    ],
  };
}
