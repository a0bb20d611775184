import { create } from '../api-objects.ts';
import { configMaps, definedObjects } from '../defined-objects.ts';
import { generatedDefinition, objectsOf } from '../definitions.ts';
import { fillWithDefinitions } from '../filled-definitions.ts';
import { PreparedRequest } from '../http2-client.ts';
import type { Product } from '../product.ts';
import { type Row, shortNumber } from '../report.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { statsOf } from '../stats.ts';
import { Served } from './served-definitions.ts';

const usersAtOnce = 8;
const megabyte = 1_000_000;

/** What many definitions of custom resources cost: time at the start, memory, and time until one more is served. */
export const customResources: Scenario = {
  name: 'custom-resources',
  async run(context) {
    const directory = context.workspace.freshPath('definitions');
    context.progress(`filling a store with ${sizes.definitions} definitions`);
    const averageBytes = await fillWithDefinitions(directory, sizes.definitions);
    context.progress('memory of an empty server, and of one with as many ConfigMaps as there will be objects');
    const { empty, used } = await bytesWithout(context);
    const all: number[] = [];
    const definitions = `${sizes.definitions.toLocaleString('en-US')} definitions of ${shortNumber(averageBytes / 1000)} kB`;
    const rows: Row[] = [];
    for (let round = 1; round <= context.scale.filledStarts; round++) {
      context.progress(`start with ${definitions}: ${round} of ${context.scale.filledStarts}`);
      await using product = await context.start({ dataDirectory: directory });
      all.push(product.startMs);
      await checkServed(product);
      if (round < context.scale.filledStarts) continue;
      const memory = async (what: string, without: number): Promise<Row> => ({
        ...{ what: `memory per definition, ${definitions}, ${what}`, unit: 'MB' },
        ...memoryOf(await bytesAfterCollection(product), without),
      });
      rows.push(await memory('none in use', empty));
      rows.push(...(await new Served(context, product, definitions).rows()));
      context.progress(`using ${definitions}`);
      await useAll(product);
      rows.push(await memory('each with an object, a GET, a LIST and OpenAPI', used));
      for (const form of ['json', 'protobuf'] as const)
        rows.push(await openapiV2(context, product, { form, definitions }));
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

/** `without`: of a server without definitions that has as many objects. */
const memoryOf = (bytes: number, without: number): Pick<Row, 'measured' | 'reach' | 'notes'> => ({
  measured: statsOf([(bytes - without) / megabyte / sizes.definitions]),
  reach: { of: 'measured', atMost: 0.3 },
  notes: [
    `resident after a full collection, in all ${shortNumber(bytes / megabyte)} MB; ` +
      `${shortNumber(without / megabyte)} MB without definitions, with as many ConfigMaps as there are objects`,
  ],
});

/** What a server without definitions takes: empty, and with a ConfigMap in the place of each object. */
async function bytesWithout(context: BenchContext): Promise<{ readonly empty: number; readonly used: number }> {
  await using product = await context.start();
  const empty = await bytesAfterCollection(product);
  await inParallel(async (index) => {
    const bytes = JSON.stringify(definedObjects(generatedDefinition(index))('one')).length;
    const collection = '/api/v1/namespaces/default/configmaps';
    const name = `one-${index}`;
    await create(product.api, collection, configMaps(bytes)(name));
    await product.api.expect(200, `${collection}/${name}`);
  });
  return { empty, used: await bytesAfterCollection(product) };
}

/** Calls it for each definition, several at a time. */
async function inParallel(each: (index: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < sizes.definitions; from += usersAtOnce) {
    await Promise.all(Array.from({ length: usersAtOnce }, (_, offset) => each(from + offset)));
  }
}

const openapiV2Types = {
  json: 'application/json',
  protobuf: 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
} as const;

/** The document of all kinds, which is made anew for each who asks: how long it takes, and how much memory. */
async function openapiV2(
  context: BenchContext,
  product: Product,
  { form, definitions }: { readonly form: keyof typeof openapiV2Types; readonly definitions: string },
): Promise<Row> {
  context.progress(`OpenAPI of version 2 in ${form}`);
  const before = await bytesAfterCollection(product);
  const [client] = await product.http2(1);
  if (!client) throw new Error('no connection');
  const headers = { accept: openapiV2Types[form] };
  const request = new PreparedRequest({ method: 'GET', path: '/openapi/v2', headers });
  const cpuBefore = product.cpuSeconds();
  const startedAt = performance.now();
  let resident = before;
  const sampling = setInterval(() => {
    resident = Math.max(resident, product.residentBytes());
  }, 50);
  const ended = Promise.withResolvers<number>();
  client.send(request, {
    data() {},
    end: ({ bytes }) => ended.resolve(bytes),
    failed: (why) => ended.reject(new Error(why)),
  });
  const bytes = await ended.promise;
  clearInterval(sampling);
  client.close();
  return {
    what: `GET of /openapi/v2 in ${form} to its end, ${definitions}`,
    unit: 'ms',
    measured: statsOf([performance.now() - startedAt]),
    reach: { of: 'measured', atMost: 30_000 },
    notes: [
      `${shortNumber(bytes / megabyte)} MB; ${shortNumber(product.cpuSeconds() - cpuBefore)} s of processor time; at most ` +
        `${shortNumber((resident - before) / megabyte)} MB more resident than before`,
    ],
  };
}

/** Uses each kind once in every way. */
const useAll = ({ api }: Product): Promise<void> =>
  inParallel(async (index) => {
    const definition = generatedDefinition(index);
    const objects = objectsOf(definition);
    await create(api, objects, definedObjects(definition)('one'));
    await api.expect(200, `${objects}/one`);
    await api.expect(200, objects);
    // The definitions of a group have one document.
    if (index < sizes.definitionGroups) await api.expect(200, `/openapi/v3/apis/${definition.group}/v1`);
  });

/** The last definition is served once the server is ready. */
async function checkServed({ api }: Product): Promise<void> {
  const { group, plural } = generatedDefinition(sizes.definitions - 1);
  await api.expect(200, `/apis/${group}/v1/${plural}`);
}

async function bytesAfterCollection(product: Product): Promise<number> {
  await product.settled();
  await product.collectGarbage();
  return product.residentBytes();
}
