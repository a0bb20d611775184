import { cborFlag, dialect } from '../api-objects.ts';
import { listedNamespace } from '../filled-data.ts';
import type { LoadResult } from '../load.ts';
import type { Product } from '../product.ts';
import { http2Reader, learn, type Read, sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { compare, medianCpu, ratesOf, ratioTo, type Sample, takeTurns } from '../rounds.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { percentile, statsOf } from '../stats.ts';

const mebibyte = 1024 * 1024;
/** One after the other: what is measured is how fast one list comes, not how many fit. */
const oneByOne = { connections: 1, streams: 1 };

/** Lists of much, and a list that looks at much and finds nothing. */
export const list: Scenario = {
  name: 'list',
  async run(context) {
    const dataDirectory = await context.filledDirectory();
    context.progress(`starting with ${sizes.filledObjects.toLocaleString('en-US')} objects`);
    return [...(await inJson(context, dataDirectory)), ...(await inFormats(context, dataDirectory))];
  },
};

async function inJson(context: BenchContext, dataDirectory: string): Promise<Row[]> {
  await using product = await context.start({ dataDirectory });
  // Whatever is written changes the version that lists tell.
  await product.settled();
  return [...(await whole(context, product)), await nothing(context, product)];
}

type Headers = Readonly<Record<string, string>>;

const shown = (as: string, mediaType = 'application/json'): Headers => ({
  accept: `${mediaType};as=${as};g=${dialect.group('meta')};v=v1`,
});

/** Forms in which the same list is asked for, the first of which the others are compared with. */
const forms: readonly (readonly [name: string, headers: Headers])[] = [
  ['JSON', { accept: 'application/json' }],
  ['YAML', { accept: 'application/yaml' }],
  ['protobuf', { accept: dialect.protobufMediaType }],
  ['CBOR', { accept: 'application/cbor' }],
  ['JSON, gzip', { accept: 'application/json', 'accept-encoding': 'gzip' }],
  ['protobuf, gzip', { accept: dialect.protobufMediaType, 'accept-encoding': 'gzip' }],
  ['JSON as Table', shown('Table')],
  ['JSON as PartialObjectMetadataList', shown('PartialObjectMetadataList')],
  ['protobuf as PartialObjectMetadataList', shown('PartialObjectMetadataList', dialect.protobufMediaType)],
];

async function inFormats({ start, scale, progress }: BenchContext, dataDirectory: string): Promise<Row[]> {
  await using product = await start({ dataDirectory, flags: [cborFlag] });
  await product.settled();
  const objects = `LIST ${sizes.listedObjects.toLocaleString('en-US')} objects`;
  using open = new DisposableStack();
  const sides = [];
  for (const [name, headers] of forms) {
    progress(`${objects} in ${name}`);
    const read: Read = { path: `/api/v1/namespaces/${listedNamespace}/configmaps`, headers };
    const answer = await product.api.expect(200, read.path, { headers });
    const reader = open.use(await http2Reader(product, read, answer, oneByOne));
    const take = async (): Promise<Sample> => {
      const result = await sampled(product, () => reader.read({ durationMs: scale.roundMs }));
      return { ...result, rate: (result.requests * sizes.listedObjects) / result.seconds };
    };
    sides.push({ what: `${objects} in ${name}, ${(answer.body.length / mebibyte).toFixed(1)} MiB`, take });
  }
  const samples = await takeTurns(
    scale.rounds,
    sides.map(({ take }) => take),
  );
  const [json = []] = samples;
  return sides.map(({ what }, index): Row => {
    const taken = samples[index] ?? [];
    const notes = [`CPU per list ${shortNumber((medianCpu(taken) ?? 0) / 1000)} ms`];
    const beside = { ratio: ratioTo(taken, json), of: 'JSON' };
    return { what, unit: 'objects/s', measured: ratesOf(taken), ...(index > 0 && { beside }), notes };
  });
}

async function whole({ scale, progress, ceiling: startCeiling }: BenchContext, product: Product): Promise<Row[]> {
  const read: Read = { path: `/api/v1/namespaces/${listedNamespace}/configmaps` };
  const ceiling = await startCeiling();
  const answer = await learn(product, ceiling, read);
  const { items }: { readonly items: readonly unknown[] } = JSON.parse(answer.body.toString());
  if (items.length !== sizes.listedObjects) throw new Error(`${items.length} items instead of ${sizes.listedObjects}`);
  const size = `${(answer.body.length / mebibyte).toFixed(1)} MiB`;
  const what = `LIST ${sizes.listedObjects.toLocaleString('en-US')} objects, ${size}`;
  progress(what);
  const firstBytes: number[] = [];
  const inBytes = (result: Sample & LoadResult): Sample & LoadResult => ({
    ...result,
    rate: result.bytes / result.seconds / mebibyte,
  });
  const bounds = { durationMs: scale.roundMs };
  using ours = await http2Reader(product, read, answer, oneByOne);
  using bare = await http2Reader(ceiling, read, answer, oneByOne);
  const {
    product: measured,
    ceiling: limit,
    ratio,
    productCpuMicros = 0,
    ceilingCpuMicros = 0,
  } = await compare({
    rounds: scale.rounds,
    product: async () => {
      const result = await sampled(product, () => ours.read(bounds));
      firstBytes.push(percentile(result.firstByteMs, 50));
      return inBytes(result);
    },
    ceiling: async () => inBytes(await sampled(ceiling, () => bare.read(bounds))),
  });
  const cpu = `CPU per list ${shortNumber(productCpuMicros / 1000)} ms, ceiling ${shortNumber(ceilingCpuMicros / 1000)} ms`;
  return [
    { what, unit: 'MiB/s', measured, ceiling: limit, ratio, reach: { of: 'ratio', atLeast: 0.8 }, notes: [cpu] },
    {
      what: 'that list, until the first byte of the body',
      unit: 'ms',
      measured: statsOf(firstBytes.slice(1)),
      reach: { of: 'measured', atMost: 10 },
    },
  ];
}

async function nothing({ scale, progress }: BenchContext, product: Product): Promise<Row> {
  const read: Read = { path: '/api/v1/configmaps?labelSelector=app%3Dabsent' };
  const what = `LIST ${sizes.filledObjects.toLocaleString('en-US')} objects by a selector that matches none`;
  progress(what);
  const answer = await product.api.expect(200, read.path, { headers: { accept: 'application/json' } });
  const { items }: { readonly items: readonly unknown[] } = JSON.parse(answer.body.toString());
  if (items.length !== 0) throw new Error(`${items.length} items instead of none`);
  using reader = await http2Reader(product, read, answer, oneByOne);
  const milliseconds: number[] = [];
  for (let round = 0; round <= scale.rounds; round++) {
    const { latencyMs } = await reader.read({ durationMs: scale.roundMs });
    if (round > 0) milliseconds.push(percentile(latencyMs, 50));
  }
  return { what, unit: 'ms', measured: statsOf(milliseconds), reach: { of: 'measured', atMost: 25 } };
}
