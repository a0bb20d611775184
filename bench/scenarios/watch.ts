import { Audience, type Delivered, jsonWatch } from '../audience.ts';
import type { Ceiling } from '../ceiling.ts';
import { type Http2Client, PreparedRequest } from '../http2-client.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { type Row, shortNumber } from '../report.ts';
import { type Compared, compare, type Sample } from '../rounds.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { percentile, type Stats, statsOf } from '../stats.ts';

const namespace = 'default';
const collection = `/api/v1/namespaces/${namespace}/configmaps`;
const json = { accept: 'application/json', 'content-type': 'application/json' };
/** Connections of the watches; below the streams that one may have. */
const watchConnections = 20;
/** Paths of the bare server. */
const bareWatch = '/watch';
const bareEmit = '/emit';

/** A thousand watches of one collection, and writes to it. */
export const watch: Scenario = {
  name: 'watch',
  async run(context) {
    await using product = await context.start();
    await using clients = new Clients();
    await makeWatched(product);
    const ours = await productStage(product, clients);
    const bare = await ceilingStage(await context.ceiling(), clients, ours.sampleEvent, ours.sampleAnswer);
    const single = await measure(context, ours, bare, context.scale.singleEvents, sendOneByOne);
    const burst = await measure(context, ours, bare, context.scale.burstEvents, sendAtOnce);
    const watchers = sizes.watchers.toLocaleString('en-US');
    return [
      deliveryRow(`${watchers} watchers, one event at a time`, single, { of: 'measured', atLeast: 150_000 }),
      latencyRow('that event, from before its write was sent to each client', single, 50),
      deliveryRow(`${watchers} watchers, ${context.scale.burstEvents} events at once`, burst),
      latencyRow('those events, from before the first write was sent to each client', burst),
    ];
  },
};

/** Watches and a writer on one side. */
interface Stage {
  readonly audience: Audience;
  /** That the server has used. */
  cpuSeconds(): number;
  /** Sends the write number `event` of a round. */
  write(event: number): void;
  /** Throws where what the watchers saw are not the events of those writes. */
  check(events: Buffer, count: number): void;
}

interface ProductStage extends Stage {
  readonly sampleEvent: Buffer;
  readonly sampleAnswer: Buffer;
}

/** Connections that are closed together. */
export class Clients implements AsyncDisposable {
  readonly #all: Http2Client[] = [];

  async of(side: Product | Ceiling, count: number): Promise<readonly Http2Client[]> {
    const opened = await side.http2(count);
    this.#all.push(...opened);
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#all) client.close();
  }
}

const nameOf = (event: number): string => `watched-${event}`;

/** Makes the objects that are written to. */
export async function makeWatched(product: Product): Promise<void> {
  const objects = 100;
  for (let event = 0; event < objects; event++) {
    const body = configMapBody({ name: nameOf(event), namespace });
    await product.api.expect(201, collection, { method: 'POST', headers: json, body });
  }
}

export async function productStage(
  product: Product,
  clients: Clients,
  connections = watchConnections,
): Promise<ProductStage> {
  const [writer] = await clients.of(product, 1);
  if (!writer) throw new Error('no connection');
  let version = 0;
  const write = (event: number): void => {
    // Every write changes its object: one that does not makes no event.
    version++;
    const body = configMapBody({ name: nameOf(event), namespace, version: String(version) });
    const request = new PreparedRequest({ method: 'PUT', path: `${collection}/${nameOf(event)}`, headers: json, body });
    writer.send(request, ignoreAnswer);
  };
  const { body } = await product.api.expect(200, `${collection}?limit=1`);
  const { metadata }: { readonly metadata: { readonly resourceVersion: string } } = JSON.parse(body.toString());
  const watches = await clients.of(product, connections);
  const path = `${collection}?watch=1&resourceVersion=${metadata.resourceVersion}`;
  let sampleEvent = Buffer.alloc(0);
  const audience = await Audience.open(watches, sizes.watchers, jsonWatch(path), async (opening) => {
    sampleEvent = Buffer.from((await opening.deliver(1, () => write(0))).events);
  });
  const sampleAnswer = (await product.api.expect(200, `${collection}/${nameOf(0)}`)).body;
  const cpuSeconds = (): number => product.cpuSeconds();
  return { audience, cpuSeconds, write, check: checkEvents, sampleEvent, sampleAnswer };
}

/** The events must be changes of the objects that were written, each once, in rising order of revision. */
function checkEvents(bytes: Buffer, count: number): void {
  const events = bytes.toString().trimEnd().split('\n').map(parseEvent);
  const names = new Set(events.map(({ object }) => object.metadata.name));
  const revisions = events.map(({ object }) => Number(object.metadata.resourceVersion));
  const rising = revisions.every((revision, index) => index === 0 || revision > (revisions[index - 1] ?? 0));
  const expected = Array.from({ length: count }, (_, event) => nameOf(event));
  const complete = events.length === count && expected.every((name) => names.has(name));
  if (!complete || !rising || events.some(({ type }) => type !== 'MODIFIED')) {
    throw new Error(`watchers saw wrong events: ${bytes.toString('utf8', 0, 300)}`);
  }
}

interface WatchEvent {
  readonly type: string;
  readonly object: { readonly metadata: { readonly name: string; readonly resourceVersion: string } };
}

const parseEvent = (line: string): WatchEvent => JSON.parse(line);

async function ceilingStage(ceiling: Ceiling, clients: Clients, event: Buffer, answer: Buffer): Promise<Stage> {
  const headers = ['content-type', 'application/json'];
  await ceiling.event(event);
  await ceiling.answer(bareWatch, { status: 200, headers, body: Buffer.alloc(0), watch: true });
  await ceiling.answer(bareEmit, { status: 200, headers, body: answer, emits: true });
  const [writer] = await clients.of(ceiling, 1);
  if (!writer) throw new Error('no connection');
  const body = configMapBody({ name: nameOf(0), namespace });
  const request = new PreparedRequest({ method: 'PUT', path: bareEmit, headers: json, body });
  const write = (): void => writer.send(request, ignoreAnswer);
  const watches = await clients.of(ceiling, watchConnections);
  const audience = await Audience.open(watches, sizes.watchers, jsonWatch(bareWatch), async (opening) => {
    await ceiling.watchersOpen(sizes.watchers);
    await opening.deliver(1, write);
  });
  return {
    audience,
    cpuSeconds: () => ceiling.cpuSeconds(),
    write,
    check(events, count) {
      if (events.length !== count * event.length) throw new Error('the bare server lost bytes');
    },
  };
}

const ignoreAnswer = {
  end() {},
  failed() {},
};

type SendEvents = (stage: Stage, count: number) => Promise<readonly Delivered[]>;

/** Each event when all watchers have seen the one before. */
export const sendOneByOne: SendEvents = async (stage, count) => {
  const all: Delivered[] = [];
  for (let event = 0; event < count; event++) {
    const delivered = await stage.audience.deliver(1, () => stage.write(0));
    stage.check(delivered.events, 1);
    all.push(delivered);
  }
  return all;
};

const sendAtOnce: SendEvents = async (stage, count) => {
  const delivered = await stage.audience.deliver(count, () => {
    for (let event = 0; event < count; event++) stage.write(event);
  });
  stage.check(delivered.events, count);
  return [delivered];
};

interface Measured extends Compared {
  readonly p50: Stats;
  readonly p99: Stats;
  readonly ceilingP99: Stats;
}

async function measure(
  { scale, progress }: BenchContext,
  ours: Stage,
  bare: Stage,
  count: number,
  send: SendEvents,
): Promise<Measured> {
  progress(`${sizes.watchers} watchers, ${count} events ${send === sendAtOnce ? 'at once' : 'one by one'}`);
  const latencies = { product: [] as Float64Array[], ceiling: [] as Float64Array[] };
  const side = (stage: Stage, seen: Float64Array[]) => async (): Promise<Sample> => {
    const cpuBefore = stage.cpuSeconds();
    const rounds = await send(stage, count);
    const cpuSeconds = stage.cpuSeconds() - cpuBefore;
    const latencyMs = Float64Array.from(rounds.flatMap((round) => [...round.latencyMs])).sort();
    seen.push(latencyMs);
    const rate = latencyMs.length / rounds.reduce((sum, { seconds }) => sum + seconds, 0);
    return { rate, cpuMicros: (cpuSeconds / latencyMs.length) * 1e6 };
  };
  const compared = await compare({
    rounds: scale.rounds,
    product: side(ours, latencies.product),
    ceiling: side(bare, latencies.ceiling),
  });
  const percentiles = (seen: readonly Float64Array[], percent: number): Stats =>
    statsOf(seen.slice(1).map((latencyMs) => percentile(latencyMs, percent)));
  return {
    ...compared,
    p50: percentiles(latencies.product, 50),
    p99: percentiles(latencies.product, 99),
    ceilingP99: percentiles(latencies.ceiling, 99),
  };
}

function deliveryRow(what: string, measured: Measured, reach?: Row['reach']): Row {
  const { product, ceiling, ratio, productCpuMicros = Number.NaN, ceilingCpuMicros = Number.NaN } = measured;
  const cpu = `CPU per delivery ${shortNumber(productCpuMicros)} µs, ceiling ${shortNumber(ceilingCpuMicros)} µs`;
  return { what, unit: 'deliveries/s', measured: product, ceiling, ratio, notes: [cpu], ...(reach && { reach }) };
}

function latencyRow(what: string, { p50, p99, ceilingP99 }: Measured, atMost?: number): Row {
  return {
    what: `${what}, p99`,
    unit: 'ms',
    measured: p99,
    ceiling: ceilingP99,
    ...(atMost !== undefined && { reach: { of: 'measured', atMost } }),
    notes: [`p50 ${shortNumber(p50.median)} ms; the write, its commit and its events are all in it`],
  };
}
