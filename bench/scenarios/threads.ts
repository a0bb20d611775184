import { create } from '../api-objects.ts';
import { listedNamespace } from '../filled-data.ts';
import { PreparedRequest } from '../http2-client.ts';
import { runLoad } from '../load.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { http2Reader, type Read, sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { ratioTo, type Sample, takeTurns } from '../rounds.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { type Stats, statsOf } from '../stats.ts';
import { Clients, makeWatched, productStage, sendOneByOne } from './watch.ts';

const collection = '/api/v1/namespaces/default/configmaps';
const json = { accept: 'application/json', 'content-type': 'application/json' };

/** What is compared, with so many connections of each thread that most probably none has so many more that it sends some away. */
const loads: readonly Load[] = [
  {
    name: 'GET one object',
    connectionsEach: 32,
    open: (product, connections, context) => reads(product, { path: `${collection}/one` }, connections, context),
  },
  {
    name: `LIST of ${sizes.listedObjects.toLocaleString('en-US')} objects`,
    connectionsEach: 1,
    open: (product, connections, context) =>
      reads(product, { path: `/api/v1/namespaces/${listedNamespace}/configmaps` }, connections, context),
  },
  { name: 'create, durable', connectionsEach: 32, open: creates },
  {
    name: `a delivery to one of ${sizes.watchers.toLocaleString('en-US')} watchers`,
    connectionsEach: 8,
    open: deliveries,
  },
];

interface Load {
  readonly name: string;
  readonly connectionsEach: number;
  open(product: Product, connections: number, context: BenchContext): Promise<OpenLoad>;
}

interface OpenLoad extends Disposable {
  round(): Promise<Sample>;
}

/** Threads that are compared with one. */
const numbers = [2, 4, 8];

/**
 * What serving threads cost: the CPU of a request with several, to that with one. Where it is the same, throughput grows with
 * threads for as long as there are cores. All threads of both sides share one core, so that waiting for each other shows too.
 */
export const threads: Scenario = {
  name: 'threads',
  async run(context) {
    const rows: Row[] = [];
    for (const number of numbers) rows.push(...(await compared(context, number)));
    rows.push(await memoryOfObjects(context));
    return rows;
  },
};

async function compared(context: BenchContext, number: number): Promise<readonly Row[]> {
  const { scale, progress } = context;
  const directories = [await context.filledCopy(), await context.filledCopy()];
  await using one = await context.start({ dataDirectory: directories[0] });
  await using several = await context.start({
    dataDirectory: directories[1],
    flags: [`--serving-threads=${number}`],
  });
  for (const product of [one, several]) {
    await create(product.api, collection, JSON.parse(String(configMapBody({ name: 'one', namespace: 'default' }))));
    await product.settled();
    product.pin(0);
  }
  const rows: Row[] = [];
  for (const load of loads) {
    progress(`${load.name} with ${number} serving threads, and with one`);
    const connections = load.connectionsEach * number;
    using ofOne = await load.open(one, connections, context);
    using ofSeveral = await load.open(several, connections, context);
    // Each thread compiles its code by itself: all are to have served as much as the one.
    for (let round = 0; round < number; round++) await ofSeveral.round();
    const [single = [], multiple = []] = await takeTurns(scale.rounds, [() => ofOne.round(), () => ofSeveral.round()]);
    const cpu = ratioOfCpu(multiple, single);
    rows.push({
      what: `CPU of ${load.name}, ${number} serving threads to one`,
      unit: '×',
      measured: cpu,
      reach: { of: 'measured', atMost: 1 / 0.8 },
      notes: [
        `${shortNumber(statsOf(multiple.map(({ cpuMicros = 0 }) => cpuMicros)).median)} µs, with one thread ` +
          `${shortNumber(statsOf(single.map(({ cpuMicros = 0 }) => cpuMicros)).median)}`,
        `on one core: ${percent(ratioTo(multiple, single))} of the rate with one thread`,
      ],
    });
  }
  return rows;
}

const percent = ({ median }: Stats): string => `${Math.round(median * 100)}%`;

const ratioOfCpu = (samples: readonly Sample[], others: readonly Sample[]): Stats =>
  statsOf(samples.map(({ cpuMicros = Number.NaN }, round) => cpuMicros / (others[round]?.cpuMicros ?? Number.NaN)));

/** Rounds of reads; with other connections where the product has sent one of them to another thread. */
async function reads(product: Product, read: Read, connections: number, { scale }: BenchContext): Promise<OpenLoad> {
  const answer = await product.api.expect(200, read.path, { headers: { accept: 'application/json' } });
  const opened = () => http2Reader(product, read, answer, { connections, streams: 1 });
  let reader = await opened();
  return {
    round: () =>
      again(
        () => sampled(product, () => reader.read({ durationMs: scale.roundMs })),
        async () => {
          reader = await opened();
        },
      ),
    [Symbol.dispose]: () => reader[Symbol.dispose](),
  };
}

/** Each of the writers has one request under way. */
async function creates(product: Product, connections: number, { scale }: BenchContext): Promise<OpenLoad> {
  let clients = await product.http2(connections);
  let created = 0;
  const one = (): PreparedRequest => {
    created += 1;
    const body = configMapBody({ name: `of-thread-${created}`, namespace: 'default' });
    return new PreparedRequest({ method: 'POST', path: collection, headers: json, body });
  };
  const round = () => {
    const requests = Array.from({ length: scale.writesMax * 2 }, one);
    return sampled(product, () =>
      runLoad({
        slots: connections,
        durationMs: scale.roundMs,
        requestsMax: scale.writesMax,
        expected: { status: 201 },
        send: (slot, turn, listener) => clients[slot % connections]?.send(requests[turn] as PreparedRequest, listener),
      }),
    );
  };
  const close = (): void => {
    for (const client of clients) client.close();
  };
  return {
    round: () =>
      again(round, async () => {
        close();
        clients = await product.http2(connections);
      }),
    [Symbol.dispose]: close,
  };
}

/** Events, each when all watchers have seen the one before. */
async function deliveries(product: Product, connections: number, { scale }: BenchContext): Promise<OpenLoad> {
  await makeWatched(product);
  let clients = new Clients();
  let stage = await productStage(product, clients, connections);
  const close = (): void => void clients[Symbol.asyncDispose]();
  const round = async (): Promise<Sample> => {
    const cpuBefore = product.cpuSeconds();
    const delivered = await sendOneByOne(stage, scale.singleEvents);
    const count = delivered.length * sizes.watchers;
    const seconds = delivered.reduce((sum, each) => sum + each.seconds, 0);
    return { rate: count / seconds, cpuMicros: ((product.cpuSeconds() - cpuBefore) / count) * 1e6 };
  };
  return {
    round: () =>
      again(round, async () => {
        close();
        clients = new Clients();
        stage = await productStage(product, clients, connections);
      }),
    [Symbol.dispose]: close,
  };
}

const attemptsMax = 20;

async function again<T>(round: () => Promise<T>, renew: () => Promise<void>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await round();
    } catch (error) {
      if (attempt >= attemptsMax) throw error;
      await renew();
    }
  }
}

/** What objects cost a further thread: memory of its engine, which the bytes of objects are no part of, and of the process. */
async function memoryOfObjects(context: BenchContext): Promise<Row> {
  const used = { engine: [] as number[], process: [] as number[] };
  for (const number of [2, 3]) {
    for (const dataDirectory of [undefined, await context.filledDirectory()]) {
      context.progress(`memory with ${number} serving threads${dataDirectory === undefined ? '' : ', and objects'}`);
      await using product = await context.start({ dataDirectory, flags: [`--serving-threads=${number}`] });
      await product.settled();
      await product.collectGarbage();
      used.engine.push(await product.engineBytes());
      used.process.push(product.residentBytes());
    }
  }
  const each = ([emptyOfTwo = 0, ofTwo = 0, emptyOfThree = 0, ofThree = 0]: readonly number[]): number =>
    (ofThree - emptyOfThree - (ofTwo - emptyOfTwo)) / sizes.filledObjects;
  return {
    what: `memory of an object in a further serving thread, ${sizes.filledObjects.toLocaleString('en-US')} objects`,
    unit: 'bytes',
    measured: statsOf([each(used.engine)]),
    reach: { of: 'measured', atMost: 200 },
    notes: [
      `heaps and buffers of all threads after a full collection; resident memory ${shortNumber(each(used.process))} bytes`,
      `a further thread without objects: ${shortNumber(((used.process[2] ?? 0) - (used.process[0] ?? 0)) / 1e6)} MB resident`,
    ],
  };
}
