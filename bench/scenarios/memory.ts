import type { Product } from '../product.ts';
import { type Row, shortNumber } from '../report.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { statsOf } from '../stats.ts';

const megabyte = 1_000_000;

interface Memory {
  /** As the process stands after its start, when its controllers are done. */
  readonly asItIs: number;
  /** After it has collected all garbage. */
  readonly settled: number;
}

/** The server's memory, and what an object costs of it. */
export const memory: Scenario = {
  name: 'memory',
  async run(context) {
    context.progress('memory of an empty server');
    const empty = await measure(context);
    context.progress(`memory with ${sizes.filledObjects.toLocaleString('en-US')} objects`);
    let wireBytes = 0;
    const filled = await measure(context, await context.filledDirectory(), async (product) => {
      wireBytes = await averageWireBytes(product);
    });
    const perObject = (filled.settled - empty.settled) / sizes.filledObjects;
    return [
      {
        what: 'memory, empty',
        unit: 'MB',
        measured: statsOf([empty.settled / megabyte]),
        reach: { of: 'measured', atMost: 100 },
        notes: [`resident after a full collection; before it ${shortNumber(empty.asItIs / megabyte)} MB`],
      },
      {
        what: `memory per object beyond its wire size, ${sizes.filledObjects.toLocaleString('en-US')} objects`,
        unit: '× wire size',
        measured: statsOf([perObject / wireBytes - 1]),
        reach: { of: 'measured', atMost: 1 },
        notes: [
          `${shortNumber(perObject)} bytes for each object of ${shortNumber(wireBytes)} bytes; in all ` +
            `${shortNumber(filled.settled / megabyte)} MB, before the collection ${shortNumber(filled.asItIs / megabyte)} MB`,
        ],
      },
    ] satisfies Row[];
  },
};

async function measure(
  context: BenchContext,
  directory?: string,
  afterwards: (product: Product) => Promise<void> = async () => {},
): Promise<Memory> {
  await using product = await context.start({ dataDirectory: directory });
  await product.settled();
  const asItIs = product.residentBytes();
  await product.collectGarbage();
  const settled = product.residentBytes();
  await afterwards(product);
  return { asItIs, settled };
}

/** What one object weighs in a list, and that all of them are there. */
async function averageWireBytes(product: Product): Promise<number> {
  const page = 500;
  const { body } = await product.api.expect(200, `/api/v1/configmaps?limit=${page}`);
  const answer: { readonly items: readonly unknown[]; readonly metadata: { readonly remainingItemCount?: number } } =
    JSON.parse(body.toString());
  const objects = answer.items.length + (answer.metadata.remainingItemCount ?? 0);
  // The product's own controllers add a few.
  if (objects < sizes.filledObjects) throw new Error(`${objects} objects instead of ${sizes.filledObjects}`);
  return Buffer.byteLength(JSON.stringify(answer.items)) / answer.items.length;
}
