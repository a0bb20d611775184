import { create, dialect, json, jsonBody, untilServed } from '../api-objects.ts';
import { configMaps, definedObjects, type MakeObject, pods } from '../defined-objects.ts';
import { generatedDefinition, objectsOf } from '../definitions.ts';
import { type Http2Client, PreparedRequest } from '../http2-client.ts';
import { runLoad } from '../load.ts';
import type { Product } from '../product.ts';
import { http2Reader, sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { type Sample, takeTurns } from '../rounds.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { statsOf } from '../stats.ts';

const definitions = `/apis/${dialect.group('apiextensions')}/v1/customresourcedefinitions`;
const readers = { connections: 4, streams: 24 };
const listers = { connections: 1, streams: 4 };
const writerConnections = 4;
const listed = 100;

/** Objects of one kind. */
interface Side {
  readonly collection: string;
  readonly object: MakeObject;
}

const core = '/api/v1/namespaces/default';

/** Requests to a custom resource beside the same requests to built-in kinds, by the CPU that the server uses. */
export const customRequests: Scenario = {
  name: 'custom-requests',
  async run(context) {
    await using product = await context.start();
    const definition = generatedDefinition(0);
    await create(product.api, definitions, { metadata: { name: definition.name }, spec: definition.spec });
    const custom: Side = { collection: objectsOf(definition), object: definedObjects(definition) };
    await untilServed(product.api, custom.collection);
    const bench = new RequestBench(context, product);
    const read: Side[] = [custom];
    const bytes = await bench.answered(custom);
    for (const side of [podsOf, configMapsOf]) read.push(await sideAnswering(bench, side, bytes));
    for (const side of read) await bench.makeObjects(side);
    const sent = JSON.stringify(custom.object('measured')).length;
    const written = [custom, podsOf(sent), configMapsOf(sent)];
    await product.settled();
    return [
      await bench.gets(read),
      await bench.lists(read),
      await bench.creates(written),
      await bench.applies(written),
    ];
  },
};

const podsOf = (bytes: number): Side => ({ collection: `${core}/pods`, object: pods(bytes) });
const configMapsOf = (bytes: number): Side => ({ collection: `${core}/configmaps`, object: configMaps(bytes) });

/** Objects that are as large in answers, with all that the server adds. */
async function sideAnswering(bench: RequestBench, side: (bytes: number) => Side, bytes: number): Promise<Side> {
  const small = await bench.answered(side(bytes / 4));
  const large = await bench.answered(side(bytes / 2));
  return side(bytes / 4 + ((bytes - small) / (large - small)) * (bytes / 4));
}

class RequestBench {
  readonly #context: BenchContext;
  readonly #product: Product;
  #created = 0;

  constructor(context: BenchContext, product: Product) {
    this.#context = context;
    this.#product = product;
  }

  /** How large an object of the side is in the answer to a GET. */
  async answered({ collection, object }: Side): Promise<number> {
    const name = `measured-${this.#created++}`;
    await create(this.#product.api, collection, object(name));
    return (await this.#product.api.expect(200, `${collection}/${name}`)).body.length;
  }

  async makeObjects({ collection, object }: Side): Promise<void> {
    for (let index = 0; index < listed; index++) {
      await create(this.#product.api, collection, withLabel(object(`listed-${index}`)));
    }
  }

  gets(sides: readonly Side[]): Promise<Row> {
    return this.#reads('GET of one object', readers, sides, ({ collection }) => `${collection}/listed-0`);
  }

  lists(sides: readonly Side[]): Promise<Row> {
    const path = ({ collection }: Side): string => `${collection}?labelSelector=listed`;
    return this.#reads(`LIST of ${listed} objects`, listers, sides, path);
  }

  async #reads(
    what: string,
    how: typeof readers,
    sides: readonly Side[],
    pathOf: (side: Side) => string,
  ): Promise<Row> {
    using open = new DisposableStack();
    const rounds: (() => Promise<Sample>)[] = [];
    const sizesSeen: number[] = [];
    for (const side of sides) {
      const path = pathOf(side);
      const answer = await this.#product.api.expect(200, path, { headers: json });
      const reader = open.use(await http2Reader(this.#product, { path }, answer, how));
      const bounds = { durationMs: this.#context.scale.roundMs };
      rounds.push(() => sampled(this.#product, () => reader.read(bounds)));
      sizesSeen.push(answer.body.length);
    }
    return await this.#row(what, rounds, 1.3, sizesSeen);
  }

  async creates(sides: readonly Side[]): Promise<Row> {
    const requests = ({ collection, object }: Side): readonly PreparedRequest[] =>
      Array.from({ length: this.#context.scale.writesMax }, () => {
        const body = jsonBody(object(`created-${this.#created++}`));
        return new PreparedRequest({ method: 'POST', path: collection, headers: json, body });
      });
    return this.#writes('create', 201, sides, requests);
  }

  /** Each of another state than the one before. */
  async applies(sides: readonly Side[]): Promise<Row> {
    let turn = 0;
    const headers = { ...json, 'content-type': 'application/apply-patch+yaml' };
    const requests = ({ collection, object }: Side): readonly PreparedRequest[] => {
      const version = `v${turn++}`;
      return Array.from({ length: this.#context.scale.writesMax }, (_, at) => {
        const name = `applied-${at % sizes.writers}`;
        const body = jsonBody(object(name, `${version}-${Math.floor(at / sizes.writers)}`));
        return new PreparedRequest({ method: 'PATCH', path: `${collection}/${name}?fieldManager=b`, headers, body });
      });
    };
    for (const { collection, object } of sides) {
      for (let at = 0; at < sizes.writers; at++) {
        const body = jsonBody(object(`applied-${at}`, 'first'));
        await this.#product.api.expect(201, `${collection}/applied-${at}?fieldManager=b`, {
          ...{ method: 'PATCH', headers, body },
        });
      }
    }
    return this.#writes('server-side apply of a changed object', 200, sides, requests);
  }

  async #writes(
    what: string,
    status: number,
    sides: readonly Side[],
    requestsOf: (side: Side) => readonly PreparedRequest[],
  ): Promise<Row> {
    const clients = await this.#product.http2(writerConnections);
    const sent = sides.map(({ object }) => JSON.stringify(object('measured')).length);
    try {
      const rounds = sides.map((side) => async () => {
        const requests = requestsOf(side);
        return sampled(this.#product, () => this.#load(clients, status, requests));
      });
      return await this.#row(`${what} with every field`, rounds, 1.5, sent);
    } finally {
      for (const client of clients) client.close();
    }
  }

  #load(clients: readonly Http2Client[], status: number, requests: readonly PreparedRequest[]) {
    return runLoad({
      slots: sizes.writers,
      durationMs: this.#context.scale.roundMs,
      requestsMax: requests.length,
      expected: { status },
      send(slot, turn, listener) {
        const request = requests[turn];
        if (request) clients[slot % clients.length]?.send(request, listener);
      },
    });
  }

  /** CPU for each request to the first side, beside those to the others. */
  async #row(
    what: string,
    rounds: readonly (() => Promise<Sample>)[],
    atMost: number,
    bytes: readonly number[],
  ): Promise<Row> {
    this.#context.progress(what);
    const samples = await takeTurns(this.#context.scale.rounds, rounds);
    const [custom = [], pod = [], configMap = []] = samples.map((each) =>
      each.map(({ cpuMicros = Number.NaN }) => cpuMicros),
    );
    const ratioTo = (others: readonly number[]): number[] =>
      custom.map((cpu, round) => cpu / (others[round] ?? Number.NaN));
    const micros = (cpu: readonly number[]): string => `${shortNumber(statsOf(cpu).median)} µs`;
    const ratio = statsOf(ratioTo(configMap)).median;
    return {
      what: `CPU, ${what}, custom resource`,
      unit: 'µs',
      measured: statsOf(custom),
      beside: { ratio: statsOf(ratioTo(pod)), of: 'a Pod' },
      reach: { of: 'beside', atMost },
      notes: [
        `${Math.round(ratio * 100)}% of a ConfigMap; Pod ${micros(pod)}, ConfigMap ${micros(configMap)}`,
        `bytes: ${bytes.map(shortNumber).join(', ')}`,
      ],
    };
  }
}

const withLabel = (object: unknown): unknown => {
  const { metadata, ...rest } = object as { readonly metadata: object };
  return { ...rest, metadata: { ...metadata, labels: { listed: 'true' } } };
};
