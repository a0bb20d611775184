import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/drivers/sqlite/sqlite-store.ts';
import { create } from '../api-objects.ts';
import { definedObjects } from '../defined-objects.ts';
import { generatedDefinition, objectsOf, storedDefinition } from '../definitions.ts';
import type { Product } from '../product.ts';
import { type Row, shortNumber } from '../report.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { statsOf } from '../stats.ts';
import { Served } from './served-definitions.ts';

/** Definitions written at once. */
const parallel = 50;
const usersAtOnce = 8;
const megabyte = 1_000_000;

/** What many definitions of custom resources cost: time at the start, memory, and time until one more is served. */
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
    const rows: Row[] = [];
    for (let round = 1; round <= context.scale.filledStarts; round++) {
      context.progress(`start with ${definitions}: ${round} of ${context.scale.filledStarts}`);
      await using product = await context.start({ dataDirectory: directory });
      all.push(product.startMs);
      await checkServed(product);
      if (round < context.scale.filledStarts) continue;
      const memory = async (what: string): Promise<Row> => ({
        ...{ what: `memory per definition, ${definitions}, ${what}`, unit: 'MB' },
        ...memoryOf(await bytesAfterCollection(product), empty),
      });
      rows.push(await memory('none in use'));
      rows.push(...(await new Served(context, product, definitions).rows()));
      context.progress(`using ${definitions}`);
      await useAll(product);
      rows.push(await memory('each with an object, a GET, a LIST and OpenAPI'));
    }
    const start: Row = {
      what: `start with ${definitions}, to /readyz`,
      unit: 'ms',
      measured: statsOf(all),
      reach: { of: 'measured', atMost: 5_000 },
    };
    return [start, ...rows];
  },
};

const memoryOf = (full: number, empty: number): Pick<Row, 'measured' | 'reach' | 'notes'> => ({
  measured: statsOf([(full - empty) / megabyte / sizes.definitions]),
  reach: { of: 'measured', atMost: 0.3 },
  notes: [`resident after a full collection, in all ${shortNumber(full / megabyte)} MB`],
});

/** Uses each kind once in every way. */
async function useAll({ api }: Product): Promise<void> {
  const use = async (index: number): Promise<void> => {
    const definition = generatedDefinition(index);
    const objects = objectsOf(definition);
    await create(api, objects, definedObjects(definition)('one'));
    await api.expect(200, `${objects}/one`);
    await api.expect(200, objects);
    // The definitions of a group have one document.
    if (index < sizes.definitionGroups) await api.expect(200, `/openapi/v3/apis/${definition.group}/v1`);
  };
  for (let from = 0; from < sizes.definitions; from += usersAtOnce) {
    await Promise.all(Array.from({ length: usersAtOnce }, (_, offset) => use(from + offset)));
  }
}

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
