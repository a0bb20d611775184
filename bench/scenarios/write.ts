import { SqliteCeiling } from '../ceiling-sqlite.ts';
import { type Http2Client, PreparedRequest, type RequestOptions } from '../http2-client.ts';
import { type LoadResult, runLoad } from '../load.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { type Compared, compare, type Sample } from '../rounds.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { percentile, statsOf } from '../stats.ts';

const namespace = 'default';
const collection = `/api/v1/namespaces/${namespace}/configmaps`;
const json = { accept: 'application/json', 'content-type': 'application/json' };
/** Ways to change the same field of an object that is there: media type, and the body that gives it a value. */
const patches = {
  'merge patch': {
    type: 'application/merge-patch+json',
    body: (version: string): unknown => ({ data: { version } }),
  },
  'strategic merge patch': {
    type: 'application/strategic-merge-patch+json',
    body: (version: string): unknown => ({ data: { version } }),
  },
  'JSON patch': {
    type: 'application/json-patch+json',
    body: (version: string): unknown => [{ op: 'replace', path: '/data/version', value: version }],
  },
} as const;
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
      await bench.patches('merge patch'),
      await bench.patches('strategic merge patch'),
      await bench.patches('JSON patch'),
      await bench.applies(),
      { ...(await bench.appliesUnchanged()), reach: { of: 'measured', atLeast: 5_000 } },
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

  async patches(name: keyof typeof patches): Promise<Row> {
    const { type, body } = patches[name];
    const requests = this.#perWriter((writer, version) => ({
      method: 'PATCH',
      path: `${collection}/written-${writer}`,
      headers: { ...json, 'content-type': type },
      body: Buffer.from(JSON.stringify(body(`${name} ${version}`))),
    }));
    const what = `${name}, ${sizes.writers} clients on ${shared} connections`;
    return this.#counted(what, requests);
  }

  /** Server-side apply of a whole object that differs in one field from what is there. */
  async applies(): Promise<Row> {
    await this.#applyTargets();
    const what = `server-side apply of a changed object, ${sizes.writers} clients on ${shared} connections`;
    return this.#counted(what, this.#perWriter(application));
  }

  /** Server-side apply of what is there: an answer without a write, so that no commit is its ceiling. */
  async appliesUnchanged(): Promise<Row> {
    const what = `server-side apply of an unchanged object, ${sizes.writers} clients on ${shared} connections`;
    const [version = ''] = versions;
    await this.#applyTargets(version);
    const requests = this.#perWriter((writer) => application(writer, version));
    const before = await this.#revision();
    const samples = await this.#rounds(what, requests);
    const used = (await this.#revision()) - before;
    if (used !== 0) throw new Error(`${what}: ${used} writes of what was there`);
    const cpu = statsOf(samples.map(({ cpuMicros = 0 }) => cpuMicros)).median;
    const p99 = statsOf(samples.map(({ latencyMs }) => percentile(latencyMs, 99))).median;
    const notes = [`no revision written; latency p99 ${shortNumber(p99)} ms; CPU per request ${shortNumber(cpu)} µs`];
    return { what, unit: '/s', measured: statsOf(samples.map(({ rate }) => rate)), notes };
  }

  /** Rounds of the product alone, after one that does not count. */
  async #rounds(what: string, requests: readonly PreparedRequest[]): Promise<readonly (Sample & LoadResult)[]> {
    const { scale, progress } = this.#context;
    progress(what);
    const clients = await this.#product.http2(shared);
    try {
      const samples: (Sample & LoadResult)[] = [];
      for (let round = 0; round <= scale.rounds; round++)
        samples.push(await sampled(this.#product, () => this.#load(clients, requests, 200)));
      return samples.slice(1);
    } finally {
      for (const client of clients) client.close();
    }
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

  /** Makes the objects that are applied, or gives them that version. */
  async #applyTargets(version = 'a'): Promise<void> {
    for (let writer = 0; writer < sizes.writers; writer++) {
      const { path, ...request } = application(writer, version);
      const { status } = await this.#product.api.send(path, request);
      if (status !== 200 && status !== 201) throw new Error(`apply at ${path} was answered with ${status}`);
    }
  }

  /** Objects that writers created; the product's own controllers have theirs beside them. */
  async #count(): Promise<number> {
    const { items } = await this.#list('');
    return items.filter(({ metadata }) => metadata.name.startsWith('created-')).length;
  }

  async #revision(): Promise<number> {
    return Number((await this.#list('?limit=1')).metadata.resourceVersion);
  }

  async #list(query: string): Promise<List> {
    const { body } = await this.#product.api.expect(200, `${collection}${query}`);
    return JSON.parse(body.toString());
  }
}

const application = (writer: number, version: string): RequestOptions & { readonly body: Buffer } => ({
  method: 'PATCH',
  path: `${collection}/applied-${writer}?fieldManager=bench`,
  headers: { ...json, 'content-type': 'application/apply-patch+yaml' },
  body: configMapBody({ name: `applied-${writer}`, namespace, version }),
});

interface List {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
  readonly metadata: { readonly resourceVersion: string };
}

function writeRow(what: string, compared: Compared, p50: readonly number[], p99: readonly number[]): Row {
  const { product: measured, ceiling, ratio, productCpuMicros = 0 } = compared;
  const median = (values: readonly number[]): string => shortNumber(statsOf(values).median);
  const cpu = `CPU per write, all threads: ${shortNumber(productCpuMicros)} µs`;
  const latency = `latency p50 ${median(p50)} ms, p99 ${median(p99)} ms`;
  return { what, unit: '/s', measured, ceiling, ratio, notes: [`${latency}; ${cpu}`] };
}
