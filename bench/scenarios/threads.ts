import { availableParallelism } from 'node:os';
import { create } from '../api-objects.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { http2Reader, type Read, type Reader, sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { medianCpu, ratesOf, ratioTo, type Sample, takeTurns } from '../rounds.ts';
import type { BenchContext, Scenario } from '../scenario.ts';

const collection = '/api/v1/namespaces/default/configmaps';
const read: Read = { path: `${collection}/one` };
/** So many of each thread that most probably none has so many more than the others that it sends some away. */
const connectionsEach = 32;

/** Serving threads that are compared with one. */
const numbers = [2, 4, 8];

/**
 * What serving threads bring, and cost where there are no cores for them: a product with several beside one with a single
 * one. Of use where the machine has cores for the threads, the data file and the load.
 */
export const threads: Scenario = {
  name: 'threads',
  async run(context) {
    const rows: Row[] = [];
    for (const number of numbers) rows.push(await compared(context, number));
    return rows;
  },
};

async function compared(context: BenchContext, number: number): Promise<Row> {
  const { scale, progress } = context;
  progress(`GET one object with ${number} serving threads, and with one`);
  await using one = await context.start();
  await using several = await context.start({ flags: [`--serving-threads=${number}`] });
  const products = [one, several];
  for (const product of products) await create(product.api, collection, JSON.parse(String(object)));
  for (const product of products) await product.settled();
  const connections = connectionsEach * number;
  const sides = products.map((product) => evenReads(product, connections, { durationMs: scale.roundMs }));
  const [ofOne = [], ofSeveral = []] = await takeTurns(scale.rounds, sides);
  const cpu = (samples: readonly Sample[]): string => shortNumber(medianCpu(samples) ?? 0);
  const mebibytes = (product: Product): string => shortNumber(product.residentBytes() / 1024 / 1024);
  return {
    what: `GET one object, ${number} serving threads`,
    unit: '/s',
    measured: ratesOf(ofSeveral),
    beside: { ratio: ratioTo(ofSeveral, ofOne), of: 'one thread' },
    notes: [
      `the machine has ${availableParallelism()} cores`,
      `CPU per request ${cpu(ofSeveral)} µs, with one thread ${cpu(ofOne)}`,
      `${mebibytes(several)} MiB, with one thread ${mebibytes(one)}`,
    ],
  };
}

const object = configMapBody({ name: 'one', namespace: 'default' });

/** Rounds of reads; with other connections where the product has sent one of them to another thread. */
function evenReads(
  product: Product,
  connections: number,
  bounds: Parameters<Reader['read']>[0],
): () => Promise<Sample> {
  let reader: Reader | undefined;
  return async () => {
    for (let attempt = 1; ; attempt++) {
      try {
        const open = reader ?? (await readerOf(product, connections));
        reader = open;
        return await sampled(product, () => open.read(bounds));
      } catch (error) {
        if (attempt >= attemptsMax) throw error;
        reader = undefined;
      }
    }
  };
}

const attemptsMax = 20;

async function readerOf(product: Product, connections: number): Promise<Reader> {
  const answer = await product.api.expect(200, read.path, { headers: { accept: 'application/json' } });
  return http2Reader(product, read, answer, { connections, streams: 1 });
}
