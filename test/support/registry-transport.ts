import { noSuchPath, StatusError } from '../../src/meta/status-error.ts';
import type { ClientRequest, ClientResponse, Transport } from '../../src/outbound/transport.ts';
import { allowedVerbs } from '../../src/registry/registry.ts';
import type { RegistryFixture } from '../../src/registry/registry-fixture.ts';
import type { ListReply, Reply, WatchReply } from '../../src/registry/reply.ts';
import { parseRequestInfo } from '../../src/request/request-info.ts';
import type { ServedResource } from '../../src/resources/resource.ts';

/** Requests of a client to a registry, without HTTP, with discovery, and with failures where a test wants them. */
export class RegistryTransport implements Transport {
  readonly #fixture: RegistryFixture;
  /** All requests that came, `METHOD target`. */
  readonly requests: string[] = [];
  /** Thrown instead of an answer. */
  failure: (request: ClientRequest) => Error | undefined = () => undefined;
  /** What a request waits for before it is served. */
  hold: (request: ClientRequest) => Promise<void> | undefined = () => undefined;
  /** What its answer waits for. */
  holdAnswer: (request: ClientRequest) => Promise<void> | undefined = () => undefined;

  constructor(fixture: RegistryFixture) {
    this.#fixture = fixture;
  }

  async send(request: ClientRequest): Promise<ClientResponse> {
    request.signal?.throwIfAborted();
    this.requests.push(`${request.method} ${request.target}`);
    try {
      const failure = this.failure(request);
      if (failure) throw failure;
      const held = this.hold(request);
      if (held) await held;
      request.signal?.throwIfAborted();
      const answer = this.#discovery(request.target) ?? (await this.#serve(request));
      await this.holdAnswer(request);
      return answer;
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return document(error.code, error.toStatus());
    }
  }

  #discovery(target: string): ClientResponse | undefined {
    const all = [...this.#fixture.resources.all()];
    if (target === '/apis') {
      const names = new Set(all.map(({ name }) => name.group).filter((group) => group !== ''));
      return document(200, { groups: [...names].map((name) => groupOf(name, all)) });
    }
    const [, alone] = /^\/apis\/([^/?]+)$/.exec(target) ?? [];
    if (alone !== undefined) {
      if (!all.some(({ name }) => name.group === alone)) throw noSuchPath();
      return document(200, groupOf(alone, all));
    }
    const [, core, named] = /^\/(?:api\/(v1)|apis\/([^/]+\/[^/?]+))$/.exec(target) ?? [];
    const groupVersion = core ?? named;
    if (groupVersion === undefined) return undefined;
    if (!all.some(({ apiVersion }) => apiVersion === groupVersion)) throw noSuchPath();
    const resources = all
      .filter(({ apiVersion }) => apiVersion === groupVersion)
      .map((served) => ({
        name: served.kind.resource,
        kind: served.kind.kind,
        namespaced: served.kind.scope === 'Namespaced',
        verbs: [...new Set([...allowedVerbs(served, '', true), ...allowedVerbs(served, '', false)])],
      }));
    return document(200, { groupVersion, resources });
  }

  async #serve({ method, target, body, headers, signal }: ClientRequest): Promise<ClientResponse> {
    const info = parseRequestInfo(method, target);
    if (info.type === 'resource' && !this.#fixture.resources.find(info.group, info.version, info.resource)) {
      throw noSuchPath();
    }
    const value = body === undefined ? undefined : JSON.parse(Buffer.from(body).toString());
    const reply = this.#withPatchType(headers?.['content-type'], () =>
      this.#fixture.call(method, target, value, signal),
    );
    return responseTo(await reply, signal);
  }

  /** A merge patch is what the fixture takes for one. */
  #withPatchType<T>(type: unknown, call: () => T): T {
    const before = this.#fixture.patchType;
    if (type === 'application/strategic-merge-patch+json') this.#fixture.patchType = 'strategic';
    try {
      return call();
    } finally {
      this.#fixture.patchType = before;
    }
  }
}

function responseTo(reply: Reply, signal: AbortSignal | undefined): ClientResponse {
  switch (reply.type) {
    case 'object':
      return { status: reply.status, body: once(reply.bytes) };
    case 'status':
      return document(reply.status, reply.body);
    case 'list':
      return document(200, listOf(reply));
    case 'connect':
      throw new Error('a registry connects to nobody');
    case 'watch':
      return { status: 200, body: watchBody(reply, signal) };
  }
}

const document = (status: number, value: unknown): ClientResponse => ({
  status,
  body: once(Buffer.from(JSON.stringify(value))),
});

async function* once(bytes: Uint8Array): AsyncIterableIterator<Uint8Array> {
  yield bytes;
}

const listOf = ({ metadata, items }: ListReply) => ({
  metadata,
  items: Array.from(items, ({ bytes }) => JSON.parse(bytes.toString())),
});

function watchBody(reply: WatchReply, signal = new AbortController().signal): AsyncIterable<Uint8Array> {
  const waiting: Buffer[] = [];
  let wake = (): void => {};
  let ended = false;
  const watcher = reply.start({
    event: ({ type, entry }) => {
      waiting.push(Buffer.from(`{"type":"${type}","object":${entry.bytes}}\n`));
      wake();
      return true;
    },
    closed: () => {
      ended = true;
      wake();
    },
  });
  const abort = (): void => wake();
  signal.addEventListener('abort', abort, { once: true });
  return (async function* () {
    try {
      for (;;) {
        for (const line of waiting.splice(0)) yield line;
        if (waiting.length > 0) continue;
        if (ended || signal.aborted) return;
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
    } finally {
      signal.removeEventListener('abort', abort);
      watcher.close();
    }
  })();
}

function groupOf(group: string, all: readonly ServedResource[]) {
  const versions = new Set(all.filter(({ name }) => name.group === group).map(({ apiVersion }) => apiVersion));
  const entries = [...versions].map((groupVersion) => ({ groupVersion }));
  return { name: group, versions: entries, preferredVersion: entries[0] };
}
