import { readFileSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
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
/** Records reads at the level Metadata, when they are over. */
const policy = resolve(import.meta.dirname, '../../examples/audit-policy.yaml');

/** Rounds are cut in so many: those that are compared should stand close together. */
const parts = 3;

/** What auditing costs a read: products side by side, with and without it. */
export const audit: Scenario = {
  name: 'audit',
  async run(context) {
    const { scale, progress } = context;
    const batch = logged(context, 'batch');
    const blocking = logged(context, 'blocking');
    await using none = await context.start();
    await using batched = await context.start({ flags: batch.flags });
    await using waiting = await context.start({ flags: blocking.flags });
    const products = [none, batched, waiting];
    for (const product of products) await create(product.api, collection, JSON.parse(String(one)));
    progress('GET one object without audit, and at the level Metadata');
    const ceiling = await context.ceiling();
    const answer = await learn(none, ceiling, read);
    using bare = await http2Reader(ceiling, read, answer, streams);
    const readers = await Promise.all(products.map((product) => readerOf(product)));
    const bounds = { durationMs: scale.roundMs / parts };
    const samples = await takeTurns(scale.rounds * parts, [
      ...products.map((product, at) => () => sampled(product, () => (readers[at] as Reader).read(bounds))),
      () => sampled(ceiling, () => bare.read(bounds)),
    ]);
    for (const reader of readers) reader[Symbol.dispose]();
    const [ofNone = [], ofBatched = [], ofWaiting = [], limit = []] = samples;
    const row = (what: string, measured: readonly Sample[], notes: readonly string[]): Row => ({
      what: `GET one object, ${what}`,
      unit: '/s',
      measured: ratesOf(measured),
      ceiling: ratesOf(limit),
      ratio: ratioTo(measured, limit),
      notes: [`CPU per request ${shortNumber(medianCpu(measured) ?? 0)} µs`, ...notes],
    });
    const beside = (measured: readonly Sample[]) => ({ ratio: ratioTo(measured, ofNone), of: 'the row without audit' });
    return [
      row('without audit', ofNone, []),
      {
        ...row('audit at the level Metadata', ofBatched, [batch.written()]),
        beside: beside(ofBatched),
        reach: { of: 'beside', atLeast: 0.9 },
      },
      { ...row('the same in mode blocking', ofWaiting, [blocking.written()]), beside: beside(ofWaiting) },
    ];
  },
};

const one = configMapBody({ name: 'one', namespace: 'default' });

/** Flags of a log, and what was written to it. */
function logged({ workspace }: BenchContext, mode: string) {
  const directory = workspace.freshPath(`audit-${mode}`);
  const path = join(directory, 'audit.log');
  const flags = [`--audit-policy-file=${policy}`, `--audit-log-path=${path}`, `--audit-log-mode=${mode}`];
  const sizes = ['--audit-log-maxsize=64', '--audit-log-maxbackup=1'];
  const written = (): string => {
    const [line = ''] = readFileSync(path, 'utf8').split('\n', 1);
    const { size } = statSync(path);
    rmSync(directory, { recursive: true });
    if (size === 0) throw new Error('nothing was recorded');
    return `events of ${line.length} bytes`;
  };
  return { flags: [...flags, ...sizes], written };
}

async function readerOf(product: Product): Promise<Reader> {
  const answer = await product.api.expect(200, read.path, { headers: { accept: 'application/json' } });
  return http2Reader(product, read, answer, streams);
}
