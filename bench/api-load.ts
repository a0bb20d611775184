import { Audience } from './audience.ts';
import { type Http2Client, PreparedRequest, type RequestOptions } from './http2-client.ts';
import { type LoadResult, runLoad } from './load.ts';
import { configMapBody } from './objects.ts';
import type { ApiSide } from './peer.ts';
import { sizes } from './scale.ts';

/** What the loads are about: objects of `sizes.objectBytes`, watches of them, clients that ask at once. */
export const loadSizes = { objects: 1_000, watchers: 100, readers: 64, lists: 4 } as const;

const connections = 4;
const json = { accept: 'application/json', 'content-type': 'application/json' };

interface Bounds {
  readonly durationMs: number;
  readonly requestsMax?: number;
}

/** A namespace of one side, and loads about it that any API server answers. */
export class ApiLoad {
  readonly #side: ApiSide;
  readonly #namespace: string;
  readonly #collection: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #clients: Http2Client[] = [];
  #audience: Audience | undefined;
  #created = 0;
  #version = 0;

  constructor(side: ApiSide, namespace: string) {
    this.#side = side;
    this.#namespace = namespace;
    this.#collection = `/api/v1/namespaces/${namespace}/configmaps`;
    this.#headers = { ...json, ...side.credentials };
  }

  /** Makes the namespace and the objects that are read and updated. */
  async fill(): Promise<void> {
    const body = Buffer.from(JSON.stringify({ metadata: { name: this.#namespace } }));
    await this.#side.api.expect(201, '/api/v1/namespaces', { method: 'POST', headers: this.#headers, body });
    this.#clients.push(...(await this.#side.http2(connections)));
    await this.#run(201, loadSizes.readers, { durationMs: fillMsMax, requestsMax: loadSizes.objects }, (turn) => ({
      method: 'POST',
      path: this.#collection,
      body: configMapBody({ name: nameOf(turn), namespace: this.#namespace }),
    }));
  }

  get(bounds: Bounds): Promise<LoadResult> {
    return this.#read(`${this.#collection}/${nameOf(0)}`, loadSizes.readers, sizes.objectBytes * 0.9, bounds);
  }

  list(bounds: Bounds): Promise<LoadResult> {
    return this.#read(this.#collection, loadSizes.lists, loadSizes.objects * sizes.objectBytes * 0.9, bounds);
  }

  selectNothing(bounds: Bounds): Promise<LoadResult> {
    return this.#read(`${this.#collection}?labelSelector=no%3Dsuch`, loadSizes.readers, 0, bounds);
  }

  create(bounds: Bounds, clients: number = loadSizes.readers): Promise<LoadResult> {
    return this.#run(201, clients, bounds, () => ({
      method: 'POST',
      path: this.#collection,
      body: configMapBody({ name: `created-${this.#created++}`, namespace: this.#namespace }),
    }));
  }

  /** Each client keeps to objects of its own, and changes them. */
  update(bounds: Bounds, clients: number = loadSizes.readers): Promise<LoadResult> {
    return this.#run(200, clients, bounds, (_turn, slot) => this.#change(slot));
  }

  /** Applies what is there, each client its own object: no version is written but the first. */
  applyUnchanged(bounds: Bounds): Promise<LoadResult> {
    const requests = Array.from({ length: loadSizes.readers }, (_, slot) => {
      const name = nameOf(slot);
      const identity = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
      return new PreparedRequest({
        method: 'PATCH',
        path: `${this.#collection}/${name}?fieldManager=bench&force=true`,
        headers: { ...this.#headers, 'content-type': 'application/apply-patch+yaml' },
        body: Buffer.from(JSON.stringify({ ...identity, data: { applied: 'by bench' } })),
      });
    });
    const expected = { status: 200, bytesMin: sizes.objectBytes * 0.9 };
    return this.#load(expected, loadSizes.readers, bounds, (_turn, slot) => requests[slot] as PreparedRequest);
  }

  /** What a busy control plane is asked at once: mostly reads, pages, and writes of both kinds. By name, in one go. */
  async mixed(bounds: Bounds): Promise<Readonly<Record<'GET' | 'page of 100' | 'create' | 'update', LoadResult>>> {
    const [get, page, created, updated] = await Promise.all([
      this.#read(`${this.#collection}/${nameOf(0)}`, 40, sizes.objectBytes * 0.9, bounds),
      this.#read(`${this.#collection}?limit=100`, 8, sizes.objectBytes * 90, bounds),
      this.create(bounds, 8),
      this.update(bounds, 8),
    ]);
    return { GET: get, 'page of 100': page, create: created, update: updated };
  }

  /** Changes as many objects at once as `events`, and waits until all watches have seen all. Gives events of all watches. */
  async watch(events: number): Promise<{ readonly deliveries: number; readonly seconds: number }> {
    this.#audience ??= await this.#watches();
    const audience = this.#audience;
    const [writer] = this.#clients;
    const { latencyMs, seconds } = await audience.deliver(events, () => {
      for (let event = 0; event < events; event++) writer?.send(this.#prepared(this.#change(event)), ignoreAnswer);
    });
    return { deliveries: latencyMs.length, seconds };
  }

  async #watches(): Promise<Audience> {
    const { body } = await this.#side.api.expect(200, `${this.#collection}?limit=1`, { headers: this.#headers });
    const { metadata }: { readonly metadata: { readonly resourceVersion: string } } = JSON.parse(body.toString());
    const clients = await this.#side.http2(connections);
    this.#clients.push(...clients);
    const path = `${this.#collection}?watch=1&resourceVersion=${metadata.resourceVersion}`;
    const prepared = this.#prepared({ method: 'GET', path });
    return Audience.open(clients, loadSizes.watchers, prepared, async (opening) => {
      await opening.deliver(1, () => this.#clients[0]?.send(this.#prepared(this.#change(0)), ignoreAnswer));
    });
  }

  #change(index: number): RequestOptions {
    const name = nameOf(index);
    const version = String(this.#version++);
    const body = configMapBody({ name, namespace: this.#namespace, version });
    return { method: 'PUT', path: `${this.#collection}/${name}`, body };
  }

  #read(path: string, slots: number, bytesMin: number, bounds: Bounds): Promise<LoadResult> {
    const request = this.#prepared({ method: 'GET', path });
    return this.#load({ status: 200, bytesMin }, slots, bounds, () => request);
  }

  #run(
    status: number,
    slots: number,
    bounds: Bounds,
    request: (turn: number, slot: number) => RequestOptions,
  ): Promise<LoadResult> {
    const bytesMin = sizes.objectBytes * 0.9;
    return this.#load({ status, bytesMin }, slots, bounds, (turn, slot) => this.#prepared(request(turn, slot)));
  }

  #load(
    expected: { readonly status: number; readonly bytesMin: number },
    slots: number,
    bounds: Bounds,
    request: (turn: number, slot: number) => PreparedRequest,
  ): Promise<LoadResult> {
    const clients = this.#clients;
    return runLoad({
      ...bounds,
      slots,
      expected,
      send: (slot, turn, listener) => clients[slot % connections]?.send(request(turn, slot), listener),
    });
  }

  #prepared(request: RequestOptions): PreparedRequest {
    return new PreparedRequest({ ...request, headers: this.#headers });
  }

  /** Removes all that was made. */
  async clear(): Promise<void> {
    for (const client of this.#clients) client.close();
    const remove = { method: 'DELETE', headers: this.#headers };
    await this.#side.api.send(this.#collection, remove);
    await this.#side.api.send(`/api/v1/namespaces/${this.#namespace}`, remove);
  }
}

const fillMsMax = 60_000;
const nameOf = (index: number): string => `read-${index}`;
const ignoreAnswer = { end() {}, failed() {} };
