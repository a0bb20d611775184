import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/drivers/sqlite/sqlite-store.ts';
import { generatedDefinition, storedDefinition } from '../definitions.ts';
import type { Product } from '../product.ts';
import { type Row, shortNumber } from '../report.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { statsOf } from '../stats.ts';

/** Definitions written at once. */
const parallel = 50;
const megabyte = 1_000_000;

/** What many definitions of custom resources cost: time at the start, and memory. */
export const customResources: Scenario = {
  name: 'custom-resources',
  async run(context) {
    const directory = context.workspace.freshPath('definitions');
    context.progress(`filling a store with ${sizes.definitions} definitions`);
    const averageBytes = await fillWithDefinitions(directory);
    context.progress('memory of an empty server');
    const empty = await settledBytes(context);
    const all: number[] = [];
    const definitions = `${sizes.definitions.toLocaleString('en-US')} definitions of ${shortNumber(averageBytes / 1000)} kB`;
    let full = 0;
    for (let round = 1; round <= context.scale.filledStarts; round++) {
      context.progress(`start with ${definitions}: ${round} of ${context.scale.filledStarts}`);
      await using product = await context.start({ dataDirectory: directory });
      all.push(product.startMs);
      await checkServed(product);
      if (round === context.scale.filledStarts) full = await bytesAfterCollection(product);
    }
    return [
      {
        what: `start with ${definitions}, to /readyz`,
        unit: 'ms',
        measured: statsOf(all),
        reach: { of: 'measured', atMost: 5_000 },
      },
      {
        what: `memory per definition, ${definitions}`,
        unit: 'MB',
        measured: statsOf([(full - empty) / megabyte / sizes.definitions]),
        reach: { of: 'measured', atMost: 0.3 },
        notes: [`resident after a full collection, in all ${shortNumber(full / megabyte)} MB`],
      },
    ] satisfies Row[];
  },
};

/** Returns how large a definition is on average. */
async function fillWithDefinitions(directory: string): Promise<number> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const store = await openSqliteStore({ file: join(directory, 'orch.db') });
  let bytes = 0;
  const write = (index: number): Promise<unknown> => {
    const definition = generatedDefinition(index);
    const value = storedDefinition(definition, index);
    bytes += value.length;
    return store.create(`/apiextensions.orch.io/customresourcedefinitions/${definition.name}`, value);
  };
  try {
    for (let from = 0; from < sizes.definitions; from += parallel) {
      await Promise.all(Array.from({ length: parallel }, (_, offset) => write(from + offset)));
    }
  } finally {
    await store.close();
  }
  return bytes / sizes.definitions;
}

/** The last definition is served once the server is ready. */
async function checkServed({ api }: Product): Promise<void> {
  const { group, plural } = generatedDefinition(sizes.definitions - 1);
  await api.expect(200, `/apis/${group}/v1/${plural}`);
}

async function settledBytes(context: BenchContext): Promise<number> {
  await using product = await context.start();
  return await bytesAfterCollection(product);
}

async function bytesAfterCollection(product: Product): Promise<number> {
  await product.settled();
  await product.collectGarbage();
  return product.residentBytes();
}
