import { writeFileSync } from 'node:fs';
import { create } from '../api-objects.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { http2Reader, learn, type Read, type Reader, sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { medianCpu, ratesOf, ratioTo, type Sample, takeTurns } from '../rounds.ts';
import type { BenchContext, Scenario } from '../scenario.ts';

const collection = '/api/v1/namespaces/default/configmaps';
const read: Read = { path: `${collection}/one` };
const streams = { connections: 4, streams: 24 };

/** Rounds are cut in so many: those that are compared should stand close together. */
const parts = 3;
const scrapeMs = 1_000;

/**
 * What a read costs more with metrics that are asked for each second, and with traces configured that do not record it:
 * products side by side, with both and with neither. Nothing listens at the collector's address.
 */
export const tracing: Scenario = {
  name: 'tracing',
  async run(context) {
    const { scale, progress } = context;
    await using none = await context.start();
    await using never = await context.start({ flags: traced(context, 0) });
    await using rarely = await context.start({ flags: traced(context, 100) });
    const products = [none, never, rarely];
    for (const product of products) await create(product.api, collection, JSON.parse(String(one)));
    progress('GET one object without metrics and traces, and with both');
    const ceiling = await context.ceiling();
    const answer = await learn(none, ceiling, read);
    using bare = await http2Reader(ceiling, read, answer, streams);
    const readers = await Promise.all(products.map((product) => readerOf(product)));
    const bounds = { durationMs: scale.roundMs / parts };
    const load = (at: number) => () => (readers[at] as Reader).read(bounds);
    const scraped = (at: number) => scrapedEachSecond(products[at] as Product, load(at), bounds.durationMs);
    const [neverScraped, rarelyScraped] = [scraped(1), scraped(2)];
    const samples = await takeTurns(scale.rounds * parts, [
      () => sampled(none, load(0)),
      () => sampled(never, neverScraped),
      () => sampled(rarely, rarelyScraped),
      () => sampled(ceiling, () => bare.read(bounds)),
    ]);
    for (const reader of readers) reader[Symbol.dispose]();
    const [ofNone = [], ofNever = [], ofRarely = [], limit = []] = samples;
    const row = (what: string, measured: readonly Sample[]): Row => ({
      what: `GET one object, ${what}`,
      unit: '/s',
      measured: ratesOf(measured),
      ceiling: ratesOf(limit),
      ratio: ratioTo(measured, limit),
      notes: [`CPU per request ${shortNumber(medianCpu(measured) ?? 0)} µs`],
    });
    const beside = (measured: readonly Sample[]): Pick<Row, 'beside' | 'reach'> => ({
      beside: { ratio: ratioTo(measured, ofNone), of: 'the row without' },
      reach: { of: 'beside', atLeast: 0.97 },
    });
    return [
      row('without metrics and traces', ofNone),
      { ...row('metrics asked for each second, traces configured, none sampled', ofNever), ...beside(ofNever) },
      { ...row('the same, 100 of a million sampled', ofRarely), ...beside(ofRarely) },
    ];
  },
};

const one = configMapBody({ name: 'one', namespace: 'default' });

function traced({ workspace }: BenchContext, samplingRatePerMillion: number): readonly string[] {
  const path = workspace.freshPath(`tracing-${samplingRatePerMillion}.json`);
  const head = { apiVersion: 'apiserver.config.orch.io/v1beta1', kind: 'TracingConfiguration' };
  writeFileSync(path, JSON.stringify({ ...head, endpoint: '127.0.0.1:9', samplingRatePerMillion }));
  return [`--tracing-config-file=${path}`];
}

/** A load beside which metrics are asked for once in each second of it: rounds are shorter. */
function scrapedEachSecond<T>(product: Product, load: () => Promise<T>, roundMs: number): () => Promise<T> {
  let sinceMs = scrapeMs;
  return async () => {
    const due = sinceMs >= scrapeMs;
    sinceMs = (due ? sinceMs - scrapeMs : sinceMs) + roundMs;
    const scrape = due ? product.api.expect(200, '/metrics', {}) : undefined;
    const result = await load();
    await scrape;
    return result;
  };
}

async function readerOf(product: Product): Promise<Reader> {
  const answer = await product.api.expect(200, read.path, { headers: { accept: 'application/json' } });
  return http2Reader(product, read, answer, streams);
}
