import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { silentLogger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import { systemClock } from '../../base/time/clock.ts';
import { within } from '../../base/waits-fixture.ts';
import { ApiClient } from '../../client/api-client.ts';
import { KeptEvents } from '../../client/event-recorder-fixture.ts';
import { orch } from '../../dialect/orch.ts';
import type { ClientRequest, ClientResponse } from '../../outbound/transport.ts';
import { startGarbageCollector } from './garbage-collector.ts';

const path = '/api/v1/configmaps';
const owner = (n: number) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: `owner-${n}`, uid: `owner-uid-${n}` });
const object = (name: string, metadata: object) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'n', uid: `uid-${name}`, resourceVersion: '1', ...metadata },
});

/**
 * An in-process server that responds immediately: requests chained by promises alone leave the event loop no turn.
 * Counts the requests within one turn.
 */
class InstantServer {
  readonly #objects: readonly ReturnType<typeof object>[];
  readonly #finished: (request: ClientRequest) => boolean;
  readonly done = Promise.withResolvers<void>();
  mostInOneTurn = 0;
  requests = 0;
  #inThisTurn = 0;

  constructor(objects: readonly ReturnType<typeof object>[], finished: (request: ClientRequest) => boolean) {
    this.#objects = objects;
    this.#finished = finished;
  }

  async send(request: ClientRequest): Promise<ClientResponse> {
    this.requests++;
    if (this.#inThisTurn++ === 0) setImmediate(() => this.#endTurn());
    this.mostInOneTurn = Math.max(this.mostInOneTurn, this.#inThisTurn);
    if (this.#finished(request)) this.done.resolve();
    return this.#answer(request);
  }

  #endTurn(): void {
    this.#inThisTurn = 0;
  }

  #answer({ method, target, signal }: ClientRequest): ClientResponse {
    const [at = ''] = target.split('?');
    if (target.includes('watch=true')) return { status: 200, body: silence(signal) };
    if (at === '/apis') return answer(200, { groups: [] });
    if (at === '/api/v1') {
      const verbs = ['list', 'watch', 'delete'];
      return answer(200, { resources: [{ name: 'configmaps', kind: 'ConfigMap', namespaced: true, verbs }] });
    }
    if (at === path) return answer(200, { metadata: { resourceVersion: '1' }, items: this.#objects });
    const found = this.#objects.find(({ metadata }) => at.endsWith(`/${metadata.name}`));
    if (method !== 'GET') return answer(200, found ?? {});
    const details = { name: at.split('/').at(-1), kind: 'configmaps' };
    return found ? answer(200, found) : answer(404, { kind: 'Status', reason: 'NotFound', details, code: 404 });
  }
}

const answer = (status: number, body: object): ClientResponse => ({
  status,
  body: (async function* () {
    yield Buffer.from(JSON.stringify(body));
  })(),
});

async function* silence(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal?.addEventListener('abort', () => resolve());
  await promise;
}

describe('the collector yields the event loop', () => {
  const count = 20 * limits.collectorStepsPerSlice;
  const many = (metadata: (n: number) => object) =>
    Array.from({ length: count }, (_, n) => object(`object-${n}`, metadata(n)));
  for (const [what, objects, finished] of [
    [
      'one object with very many owners, none of which is there',
      [object('owned', { ownerReferences: Array.from({ length: count }, (_, n) => owner(n)) })],
      ({ method }: ClientRequest) => method === 'DELETE',
    ],
    [
      'one object with very many owners, of which one is there',
      [
        object('owner-0', {}),
        object('owned', {
          ownerReferences: Array.from({ length: count }, (_, n) => ({
            ...owner(n),
            uid: n === 0 ? 'uid-owner-0' : `u${n}`,
          })),
        }),
      ],
      ({ method }: ClientRequest) => method === 'PATCH',
    ],
    [
      'very many objects with one owner each',
      many((n) => ({ ownerReferences: [owner(n)] })),
      ({ method, target }: ClientRequest) => method === 'DELETE' && target.endsWith(`/object-${count - 1}`),
    ],
    [
      'very many dependents that are orphaned',
      [
        object('owner-0', { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['orphan'] }),
        ...many(() => ({ ownerReferences: [{ ...owner(0), uid: 'uid-owner-0' }] })),
      ],
      ({ method, target }: ClientRequest) => method === 'PATCH' && target.endsWith('/owner-0'),
    ],
  ] as const) {
    it(what, async () => {
      const server = new InstantServer(objects, finished);
      const collector = startGarbageCollector({
        client: new ApiClient(server, 'collector'),
        dialect: orch,
        clock: systemClock,
        random: systemRandom,
        logger: silentLogger,
        events: new KeptEvents(),
      });
      try {
        await within(server.done.promise, 'done: never');
      } finally {
        collector.close();
      }
      assert.ok(server.requests > count / 2, `${server.requests} requests`);
      // A step may read an object and write it.
      const most = 3 * limits.collectorStepsPerSlice;
      assert.ok(server.mostInOneTurn <= most, `${server.mostInOneTurn} requests in one turn`);
    });
  }
});
