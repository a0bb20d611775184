import { SqliteCeiling } from '../ceiling-sqlite.ts';
import { type Http2Client, PreparedRequest, type RequestOptions } from '../http2-client.ts';
import { type LoadResult, runLoad } from '../load.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { type Compared, compare } from '../rounds.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { percentile, statsOf } from '../stats.ts';

const namespace = 'default';
const collection = `/api/v1/namespaces/${namespace}/configmaps`;
const json = { accept: 'application/json', 'content-type': 'application/json' };
const mergePatch = { accept: 'application/json', 'content-type': 'application/merge-patch+json' };
/** Different bodies for one object, so that every write changes it; also different from what it is created with. */
const versions = ['b', 'c'];

/** How many connections the writers share. Each writer waits for its answer before it writes again. */
const shared = 4;

/** Durable writes of many clients at once, beside commits of the same bytes to a bare file. */
export const write: Scenario = {
  name: 'write',
  async run(context) {
    await using product = await context.start();
    await using ceiling = new SqliteCeiling(context.workspace.freshPath('ceiling.db'));
    const bench = new WriteBench(context, product, ceiling);
    const separate = await bench.creates(sizes.writers);
    return [
      { ...separate, reach: { of: 'measured', atLeast: 8_000 } },
      await bench.creates(shared),
      await bench.updates(),
      await bench.patches(),
    ];
  },
};

class WriteBench {
  readonly #context: BenchContext;
  readonly #product: Product;
  readonly #ceiling: SqliteCeiling;
  #created = 0;
  /** What each writer has written so far; goes on from round to round, so that no write repeats the one before. */
  readonly #turns = new Uint32Array(sizes.writers);

  constructor(context: BenchContext, product: Product, ceiling: SqliteCeiling) {
    this.#context = context;
    this.#product = product;
    this.#ceiling = ceiling;
  }

  async creates(connections: number): Promise<Row> {
    const what = `create, durable, ${sizes.writers} clients on ${connections} connections`;
    let acknowledged = await this.#count();
    const row = await this.#measure(
      what,
      connections,
      201,
      () => this.#newObjects(),
      (result) => {
        acknowledged += result.requests;
      },
    );
    const stored = await this.#count();
    if (stored !== acknowledged)
      throw new Error(`${stored} objects instead of the ${acknowledged} that were acknowledged`);
    return row;
  }

  async updates(): Promise<Row> {
    const path = (writer: number): string => `${collection}/written-${writer}`;
    await this.#createTargets();
    const requests = this.#perWriter((writer, version) => ({
      method: 'PUT',
      path: path(writer),
      headers: json,
      body: configMapBody({ name: `written-${writer}`, namespace, version }),
    }));
    const what = `update (PUT), ${sizes.writers} clients on ${shared} connections`;
    return this.#counted(what, requests);
  }

  async patches(): Promise<Row> {
    const requests = this.#perWriter((writer, version) => ({
      method: 'PATCH',
      path: `${collection}/written-${writer}`,
      headers: mergePatch,
      body: Buffer.from(JSON.stringify({ data: { version: `patched-${version}` } })),
    }));
    const what = `merge patch, ${sizes.writers} clients on ${shared} connections`;
    return this.#counted(what, requests);
  }

  /** Measures writes to objects that are there, and compares the revisions that they used with their number. */
  async #counted(what: string, requests: readonly PreparedRequest[]): Promise<Row> {
    const before = await this.#revision();
    let acknowledged = 0;
    const row = await this.#measure(
      what,
      shared,
      200,
      () => requests,
      (result) => {
        acknowledged += result.requests;
      },
    );
    const used = (await this.#revision()) - before;
    if (used < acknowledged) throw new Error(`${what}: ${acknowledged} answers and only ${used} writes`);
    return row;
  }

  async #measure(
    what: string,
    connections: number,
    status: number,
    requestsOf: () => readonly PreparedRequest[],
    seen: (result: LoadResult) => void,
  ): Promise<Row> {
    const { scale, progress } = this.#context;
    progress(what);
    const p50: number[] = [];
    const p99: number[] = [];
    const clients = await this.#product.http2(connections);
    try {
      const compared = await compare({
        rounds: scale.rounds,
        product: async () => {
          const requests = requestsOf();
          const sample = await sampled(this.#product, () => this.#load(clients, requests, status), seen);
          p50.push(percentile(sample.latencyMs, 50));
          p99.push(percentile(sample.latencyMs, 99));
          return sample;
        },
        ceiling: async () => ({
          rate: await this.#ceiling.commit({
            durationMs: scale.roundMs,
            rowBytes: sizes.objectBytes,
            group: sizes.writers,
          }),
        }),
      });
      return writeRow(what, compared, p50.slice(1), p99.slice(1));
    } finally {
      for (const client of clients) client.close();
    }
  }

  #load(clients: readonly Http2Client[], requests: readonly PreparedRequest[], status: number): Promise<LoadResult> {
    const { scale } = this.#context;
    // Writers keep to objects of their own: requests lie in the order of writers, again and again.
    const turns = this.#turns;
    return runLoad({
      slots: sizes.writers,
      durationMs: scale.roundMs,
      requestsMax: scale.writesMax,
      expected: { status, bytesMin: sizes.objectBytes * 0.9 },
      send(slot, _turn, listener) {
        const turn = turns[slot] ?? 0;
        turns[slot] = turn + 1;
        const request = requests[(turn * sizes.writers + slot) % requests.length];
        if (request) clients[slot % clients.length]?.send(request, listener);
      },
    });
  }

  /** As many new objects as a round can write, and a round of each writer more, as writers are not equally fast. */
  #newObjects(): readonly PreparedRequest[] {
    return Array.from({ length: this.#context.scale.writesMax * 2 }, () => {
      const name = `created-${this.#created++}`;
      return new PreparedRequest({
        method: 'POST',
        path: collection,
        headers: json,
        body: configMapBody({ name, namespace }),
      });
    });
  }

  #perWriter(request: (writer: number, version: string) => RequestOptions): readonly PreparedRequest[] {
    const writers = Array.from({ length: sizes.writers }, (_, writer) => writer);
    return versions.flatMap((version) => writers.map((writer) => new PreparedRequest(request(writer, version))));
  }

  async #createTargets(): Promise<void> {
    for (let writer = 0; writer < sizes.writers; writer++) {
      const body = configMapBody({ name: `written-${writer}`, namespace });
      await this.#product.api.expect(201, collection, { method: 'POST', headers: json, body });
    }
  }

  async #count(): Promise<number> {
    const { items, metadata } = await this.#firstItem();
    return items.length + (metadata.remainingItemCount ?? 0);
  }

  async #revision(): Promise<number> {
    return Number((await this.#firstItem()).metadata.resourceVersion);
  }

  async #firstItem(): Promise<ListOfOne> {
    const { body } = await this.#product.api.expect(200, `${collection}?limit=1`);
    return JSON.parse(body.toString());
  }
}

interface ListOfOne {
  readonly items: readonly unknown[];
  readonly metadata: { readonly remainingItemCount?: number; readonly resourceVersion: string };
}

function writeRow(what: string, compared: Compared, p50: readonly number[], p99: readonly number[]): Row {
  const { product: measured, ceiling, ratio, productCpuMicros = 0 } = compared;
  const median = (values: readonly number[]): string => shortNumber(statsOf(values).median);
  const cpu = `CPU per write, all threads: ${shortNumber(productCpuMicros)} µs`;
  const latency = `latency p50 ${median(p50)} ms, p99 ${median(p99)} ms`;
  return { what, unit: '/s', measured, ceiling, ratio, notes: [`${latency}; ${cpu}`] };
}
