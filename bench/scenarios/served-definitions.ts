import { setTimeout as pause } from 'node:timers/promises';
import type { ApiClient } from '../api-client.ts';
import { create, dialect, json } from '../api-objects.ts';
import { definedObjects } from '../defined-objects.ts';
import { type GeneratedDefinition, generatedDefinition, objectsOf } from '../definitions.ts';
import { PreparedRequest } from '../http2-client.ts';
import type { Product } from '../product.ts';
import { type Row, shortNumber } from '../report.ts';
import { sizes } from '../scale.ts';
import type { BenchContext } from '../scenario.ts';
import { statsOf } from '../stats.ts';
import { within } from '../within.ts';

const definitions = `/apis/${dialect.group('apiextensions')}/v1/customresourcedefinitions`;
const group = dialect.group('apidiscovery');
const aggregated = { accept: `application/json;g=${group};v=v2;as=APIGroupDiscoveryList` };
const eventMsMax = 10_000;
const pollMs = 5;

/** How long after its write a definition counts, in each place where clients look. Several new ones for each place. */
export class Served {
  readonly #context: BenchContext;
  readonly #product: Product;
  readonly #beside: string;
  #made = 0;

  /** `beside`: the definitions that are there. */
  constructor(context: BenchContext, product: Product, beside: string) {
    this.#context = context;
    this.#product = product;
    this.#beside = beside;
  }

  async rows(): Promise<readonly Row[]> {
    const { api } = this.#product;
    return [
      await this.#row('the first 200 of its endpoint', async (definition) => {
        await untilAnswer(api, objectsOf(definition), {}, () => true);
      }),
      await this.#row('the first event of a watch', (definition) => firstEvent(this.#product, definition)),
      await this.#row('it is in discovery of its group', async ({ group: its, plural }) => {
        await untilAnswer(api, `/apis/${its}/v1`, {}, (text) => text.includes(`"${plural}"`));
      }),
      await this.#row('it is in aggregated discovery', async ({ plural }) => {
        await untilAnswer(api, '/apis', aggregated, (text) => text.includes(`"${plural}"`));
      }),
      await this.#row('it is in OpenAPI of its group', async ({ group: its, kind }) => {
        await untilAnswer(api, `/openapi/v3/apis/${its}/v1`, {}, (text) => text.includes(`v1.${kind}"`));
      }),
    ];
  }

  async #row(what: string, reached: (definition: GeneratedDefinition) => Promise<void>): Promise<Row> {
    this.#context.progress(`from the write of a definition until ${what}`);
    const all: number[] = [];
    for (let round = 0; round <= this.#context.scale.singleEvents / 4; round++) {
      // Of another group each, and none of the largest.
      const definition = generatedDefinition(sizes.definitions + this.#made++ * 21);
      await create(this.#product.api, definitions, { metadata: { name: definition.name }, spec: definition.spec });
      const startedAt = performance.now();
      await reached(definition);
      if (round > 0) all.push(performance.now() - startedAt);
    }
    return {
      what: `from the answer to the create of a definition until ${what}, beside ${this.#beside}`,
      unit: 'ms',
      measured: statsOf(all),
      reach: { of: 'measured', atMost: 100 },
      notes: [`every time: ${all.map(shortNumber).join(', ')} ms`],
    };
  }
}

/** Asks again and again, and leaves the server time between. */
async function untilAnswer(
  api: ApiClient,
  path: string,
  headers: Readonly<Record<string, string>>,
  isIt: (text: string) => boolean,
): Promise<void> {
  for (;;) {
    const { status, body } = await api.send(path, { headers: { ...json, ...headers } });
    if (status === 200 && isIt(body.toString())) return;
    if (status !== 200 && status !== 404) throw new Error(`${path}: ${status}`);
    await pause(pollMs);
  }
}

/** A watch that is open before its first object is written. */
async function firstEvent(product: Product, definition: GeneratedDefinition): Promise<void> {
  const { api } = product;
  const path = objectsOf(definition);
  await untilAnswer(api, path, {}, () => true);
  const [client] = await product.http2(1);
  if (!client) throw new Error('no connection');
  const seen = Promise.withResolvers<void>();
  const request = new PreparedRequest({ method: 'GET', path: `${path}?watch=1`, headers: json });
  client.send(request, { data: () => seen.resolve(), end: () => {}, failed: (why) => seen.reject(new Error(why)) });
  await create(api, path, definedObjects(definition)('watched'));
  await within(seen.promise, eventMsMax, 'the first event');
  client.close();
}
