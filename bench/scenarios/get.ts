import type { ApiResponse } from '../api-client.ts';
import type { Ceiling } from '../ceiling.ts';
import type { LoadResult } from '../load.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { learn, type Read, type ReadLoad, readOverHttp1, readOverHttp2, sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { compare } from '../rounds.ts';
import type { BenchContext, Scenario } from '../scenario.ts';

const collection = '/api/v1/namespaces/default/configmaps';
const read: Read = { path: `${collection}/one` };
const gzipRead: Read = { ...read, headers: { 'accept-encoding': 'gzip' } };

type ReadVia = (side: Product | Ceiling, read: Read, answer: ApiResponse, load: ReadLoad) => Promise<LoadResult>;

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
    const few = { connections: 4, streams: 24 };
    return [
      { ...(await measure(context, product, read, readOverHttp2, few)), reach: { of: 'ratio', atLeast: 0.6 } },
      await measure(context, product, gzipRead, readOverHttp2, few),
      await measure(context, product, read, readOverHttp1, { connections: 48, streams: 1 }),
    ];
  },
};

async function measure(
  { scale, progress, ceiling: startCeiling }: BenchContext,
  product: Product,
  what: Read,
  via: ReadVia,
  shape: Pick<ReadLoad, 'connections' | 'streams'>,
): Promise<Row> {
  const ceiling = await startCeiling();
  const answer = await learn(product, ceiling, what);
  const name = nameOf(what, via, shape, answer);
  progress(name);
  const load = { ...shape, durationMs: scale.roundMs };
  const compared = await compare({
    rounds: scale.rounds,
    product: () => sampled(product, () => via(product, what, answer, load)),
    ceiling: () => sampled(ceiling, () => via(ceiling, what, answer, load)),
  });
  const { product: measured, ceiling: limit, ratio, productCpuMicros = 0, ceilingCpuMicros = 0 } = compared;
  const cpu = `CPU per request: ${shortNumber(productCpuMicros)} µs, ceiling ${shortNumber(ceilingCpuMicros)} µs`;
  return { what: name, unit: '/s', measured, ceiling: limit, ratio, notes: [cpu] };
}

function nameOf(
  what: Read,
  via: ReadVia,
  { connections, streams }: Pick<ReadLoad, 'connections' | 'streams'>,
  { body, headers }: ApiResponse,
): string {
  if (via === readOverHttp1) return `GET one object, HTTP/1.1, ${connections} connections`;
  const encoding = headers['content-encoding'] === 'gzip' ? `, gzip (${body.length} bytes)` : '';
  const asked = what.headers && encoding === '' ? ', gzip asked for and not given' : encoding;
  return `GET one object, HTTP/2, ${connections} × ${streams} streams${asked}`;
}
