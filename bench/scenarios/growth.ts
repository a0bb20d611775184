import { json } from '../api-objects.ts';
import { Audience, jsonWatch } from '../audience.ts';
import { fillDataDirectory } from '../filled-data.ts';
import { fillWithDefinitions } from '../filled-definitions.ts';
import { type Http2Client, PreparedRequest } from '../http2-client.ts';
import { type LoadResult, runLoad } from '../load.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { sampled } from '../reads.ts';
import { type Plot, type Row, shortNumber } from '../report.ts';
import { ratesOf, type Sample, takeTurns } from '../rounds.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { statsOf } from '../stats.ts';

const namespace = 'default';
const collection = `/api/v1/namespaces/${namespace}/configmaps`;
const name = 'one';
const [connections, streams, page] = [4, 8, 500];

/** What a request, and an event, costs by how much there is beside it: processor time, which other processes change least. */
export const growth: Scenario = {
  name: 'growth',
  run: async (context) => [
    ...(await byObjects(context)),
    ...(await byWatchers(context)),
    ...(await byDefinitions(context)),
  ],
};

/** A product of some size. */
interface Grown {
  readonly size: number;
  readonly product: Product;
  readonly clients: readonly Http2Client[];
}

interface Operation {
  readonly name: string;
  /** Times that an operation on the largest may cost of one on the smallest: design section 8. */
  readonly growthMax: number;
  run(clients: readonly Http2Client[], context: BenchContext): Promise<LoadResult>;
}

const read = (path: string): Operation['run'] => {
  const request = new PreparedRequest({ method: 'GET', path, headers: json });
  return (clients, { scale }) => load(clients, 200, scale.roundMs, () => request);
};

let version = 0;

/** A logarithm of what is there, from a thousand to a million, doubles; pages and writes are to stay as they are. */
const operations: readonly Operation[] = [
  { name: 'GET', growthMax: 2, run: read(`${collection}/${name}`) },
  { name: `page of ${page}`, growthMax: 1.5, run: read(`${collection}?limit=${page}`) },
  {
    name: 'update',
    growthMax: 2,
    run: (clients, { scale }) =>
      load(clients, 200, scale.roundMs, (slot) => {
        const body = configMapBody({ name: `written-${slot}`, namespace, version: String(version++) });
        return new PreparedRequest({ method: 'PUT', path: `${collection}/written-${slot}`, headers: json, body });
      }),
  },
];

function load(
  clients: readonly Http2Client[],
  status: number,
  durationMs: number,
  request: (slot: number) => PreparedRequest,
): Promise<LoadResult> {
  const send = (slot: number, listener: Parameters<Http2Client['send']>[1]): void =>
    clients[slot % clients.length]?.send(request(slot), listener);
  return runLoad({
    ...{ slots: connections * streams, durationMs, expected: { status } },
    send: (slot, _turn, listener) => send(slot, listener),
  });
}

const ofObjects: Plot = {
  name: 'growth-objects',
  title: 'Processor time of a request, by objects in the server',
  xAxis: 'objects',
  yAxis: 'µs',
};
const ofDefinitions: Plot = {
  name: 'growth-definitions',
  title: 'Processor time of a request, by custom resource definitions',
  xAxis: 'definitions',
  yAxis: 'µs',
};
const ofWatchers: Plot = {
  name: 'growth-watchers',
  title: 'Processor time of a delivery, by watches of the object',
  xAxis: 'watches',
  yAxis: 'µs',
};

const byObjects = (context: BenchContext): Promise<readonly Row[]> =>
  compareSizes(context, context.scale.grownObjects, 'objects', ofObjects, (directory, objects) =>
    fillDataDirectory(directory, 'ConfigMaps', { objects, namespaceOf: () => namespace }),
  );

const byDefinitions = (context: BenchContext): Promise<readonly Row[]> =>
  compareSizes(context, context.scale.grownDefinitions, 'definitions', ofDefinitions, async (directory, count) => {
    await fillWithDefinitions(directory, count);
  });

/** Servers of all sizes side by side, asked in turns. */
async function compareSizes(
  context: BenchContext,
  all: readonly number[],
  what: string,
  plot: Plot,
  fill: (directory: string, size: number) => Promise<void>,
): Promise<readonly Row[]> {
  await using open = new AsyncDisposableStack();
  const products: { readonly size: number; readonly product: Product }[] = [];
  for (const size of all) {
    context.progress(`a server with ${size.toLocaleString('en-US')} ${what}`);
    const dataDirectory = context.workspace.freshPath('grown');
    await fill(dataDirectory, size);
    const product = open.use(await context.start({ dataDirectory }));
    await product.settled();
    await makeTargets(product);
    products.push({ size, product });
  }
  // Connections that ask for nothing are closed after a while.
  const grown: Grown[] = [];
  for (const { size, product } of products) grown.push({ size, product, clients: await product.http2(connections) });
  open.defer(() => {
    for (const { clients } of grown) for (const client of clients) client.close();
  });
  const rows: Row[] = [];
  for (const operation of operations) {
    context.progress(`${operation.name}, with ${all.map((size) => size.toLocaleString('en-US')).join(', ')} ${what}`);
    const samples = await takeTurns(
      context.scale.rounds,
      grown.map(
        ({ product, clients }) =>
          () =>
            sampled(product, () => operation.run(clients, context)),
      ),
    );
    rows.push(...rowsOf({ operation, grown, samples, what, plot }));
  }
  return rows;
}

async function makeTargets({ api }: Product): Promise<void> {
  const names = [name, ...Array.from({ length: connections * streams }, (_, slot) => `written-${slot}`)];
  for (const each of names) {
    const body = configMapBody({ name: each, namespace });
    await api.expect(201, collection, { method: 'POST', headers: json, body });
  }
}

interface ComparedSizes {
  readonly operation: Operation;
  readonly grown: readonly Grown[];
  readonly samples: readonly (readonly Sample[])[];
  readonly what: string;
  readonly plot: Plot;
}

function rowsOf({ operation, grown, samples, what, plot }: ComparedSizes): readonly Row[] {
  const micros = samples.map((rounds) => rounds.map(({ cpuMicros = Number.NaN }) => cpuMicros));
  return grown.map(({ size }, index): Row => {
    const [smallest = [], own = []] = [micros[0], micros[index]];
    const isLargest = index === grown.length - 1;
    return {
      what: `${operation.name}, with ${size.toLocaleString('en-US')} ${what}`,
      unit: 'µs of CPU',
      measured: statsOf(own),
      ...(index > 0 && {
        beside: {
          ratio: statsOf(own.map((value, round) => value / (smallest[round] ?? Number.NaN))),
          of: `the row with ${grown[0]?.size.toLocaleString('en-US')}`,
        },
      }),
      ...(isLargest && { reach: { of: 'beside', atMost: operation.growthMax } as const }),
      notes: [`${shortNumber(ratesOf(samples[index] ?? []).median)} /s`],
      point: { plot, series: operation.name, x: size },
    };
  });
}

/** Below the streams that a connection may have. */
const watchesPerConnection = 90;

/** In a round: the system counts processor time in hundredths of a second. */
const deliveriesMin = 500;

/** Watches of one object each time, and its changes, one after the other. */
async function byWatchers(context: BenchContext): Promise<readonly Row[]> {
  const { scale, progress } = context;
  await using product = await context.start();
  await product.settled();
  const rows: Row[] = [];
  for (const count of scale.grownWatchers) {
    progress(`an event for ${count.toLocaleString('en-US')} watches`);
    const clients = await product.http2(Math.ceil(count / watchesPerConnection));
    const target = `watched-by-${count}`;
    const created = await product.api.expect(201, collection, {
      ...{ method: 'POST', headers: json },
      body: configMapBody({ name: target, namespace }),
    });
    const { metadata }: { readonly metadata: { readonly resourceVersion: string } } = JSON.parse(String(created.body));
    const change = (): void => {
      const body = configMapBody({ name: target, namespace, version: String(version++) });
      void product.api.expect(200, `${collection}/${target}`, { method: 'PUT', headers: json, body });
    };
    const selector = `fieldSelector=metadata.name%3D${target}&resourceVersion=${metadata.resourceVersion}`;
    const audience = await Audience.open(
      clients,
      count,
      jsonWatch(`${collection}?watch=1&${selector}`),
      async (all) => {
        await all.deliver(1, change);
      },
    );
    const samples: Sample[] = [];
    const events = Math.max(scale.singleEvents, Math.ceil(deliveriesMin / count));
    for (let round = 0; round <= scale.rounds; round++) {
      const before = product.cpuSeconds();
      let seconds = 0;
      for (let event = 0; event < events; event++) seconds += (await audience.deliver(1, change)).seconds;
      const deliveries = events * count;
      if (round === 0) continue;
      samples.push({ rate: deliveries / seconds, cpuMicros: ((product.cpuSeconds() - before) / deliveries) * 1e6 });
    }
    for (const client of clients) client.close();
    rows.push({
      what: `an event, its write included, for ${count.toLocaleString('en-US')} watches`,
      unit: 'µs of CPU for each',
      measured: statsOf(samples.map(({ cpuMicros = Number.NaN }) => cpuMicros)),
      notes: [`${shortNumber(ratesOf(samples).median)} deliveries/s`],
      point: { plot: ofWatchers, series: 'delivery', x: count },
    });
  }
  return rows;
}
