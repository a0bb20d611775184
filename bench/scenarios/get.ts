import type { ApiResponse } from '../api-client.ts';
import type { Ceiling } from '../ceiling.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { http1Reader, http2Reader, learn, type Read, type Reader, sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { compare } from '../rounds.ts';
import type { BenchContext, Scenario } from '../scenario.ts';

const collection = '/api/v1/namespaces/default/configmaps';
const read: Read = { path: `${collection}/one` };
const gzipRead: Read = { ...read, headers: { 'accept-encoding': 'gzip' } };

/** How the reads go: over which protocol, and how many at once. */
interface Way {
  readonly name: string;
  readonly read: Read;
  open(side: Product | Ceiling, answer: ApiResponse): Promise<Reader>;
}

const few = { connections: 4, streams: 24 };
const many = { connections: 48 };
const overHttp2 = `HTTP/2, ${few.connections} × ${few.streams} streams`;

const plain: Way = {
  name: `GET one object, ${overHttp2}`,
  read,
  open: (side, answer) => http2Reader(side, read, answer, few),
};

const gzipped: Way = {
  name: `GET one object, ${overHttp2}, gzip`,
  read: gzipRead,
  open: (side, answer) => http2Reader(side, gzipRead, answer, few),
};

const overHttp1: Way = {
  name: `GET one object, HTTP/1.1, ${many.connections} connections`,
  read,
  open: (side, answer) => http1Reader(side, read, answer, many),
};

/** Reads of one object, with a client certificate and authorization. */
export const get: Scenario = {
  name: 'get',
  async run(context) {
    await using product = await context.start();
    await product.api.expect(201, collection, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: configMapBody({ name: 'one', namespace: 'default' }),
    });
    return [
      { ...(await measure(context, product, plain)), reach: { of: 'ratio', atLeast: 0.6 } },
      await measure(context, product, gzipped),
      await measure(context, product, overHttp1),
    ];
  },
};

async function measure(context: BenchContext, product: Product, way: Way): Promise<Row> {
  const { scale, progress } = context;
  progress(way.name);
  const ceiling = await context.ceiling();
  const answer = await learn(product, ceiling, way.read);
  using ours = await way.open(product, answer);
  using bare = await way.open(ceiling, answer);
  const bounds = { durationMs: scale.roundMs };
  const compared = await compare({
    rounds: scale.rounds,
    product: () => sampled(product, () => ours.read(bounds)),
    ceiling: () => sampled(ceiling, () => bare.read(bounds)),
  });
  const { product: measured, ceiling: limit, ratio, productCpuMicros = 0, ceilingCpuMicros = 0 } = compared;
  const cpu = `CPU per request ${shortNumber(productCpuMicros)} µs, ceiling ${shortNumber(ceilingCpuMicros)} µs`;
  const size = `body of ${answer.body.length} bytes`;
  return { what: way.name, unit: '/s', measured, ceiling: limit, ratio, notes: [`${cpu}; ${size}`] };
}
