import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { silentLogger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import { noJitter } from '../../base/time/backoff-fixture.ts';
import { ManualClock } from '../../base/time/clock.ts';
import type { CacheEntry } from '../../cache/cache.ts';
import { createWatchCache } from '../../cache/watch-cache.ts';
import { inProcessTransport } from '../../client/in-process.ts';
import { orch } from '../../dialect/orch.ts';
import { kinds } from '../../kinds/kinds.ts';
import { defaultScope } from '../../meta/scope.ts';
import type { Transport } from '../../outbound/transport.ts';
import type { ListReply, Reply } from '../../registry/reply.ts';
import type { VerbRequest } from '../../registry/verb.ts';
import { cachedResources } from '../../resources/resource.ts';
import { ResourceRegistry } from '../../resources/resource-registry.ts';
import { openMemoryStore } from '../../store/drivers/memory/memory-store.ts';
import { contextOf } from './pipeline-fixture.ts';
import { Responder } from './responder.ts';

const lists = 100;
const itemsEach = 8;

const bytesOf = (index: number): Buffer =>
  Buffer.from(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: `n${index}`, uid: 'u' } }));

/** Above the size that is always served in the same turn. */
const largeBody = Buffer.alloc(limits.lightBytesMax + 1, ' ');

const done: Reply = {
  type: 'status',
  status: 200,
  body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' },
};

/** Serves lists whose items cost a millisecond each on `clock`, and counts the items per turn. */
class Lists {
  readonly #store = openMemoryStore();
  readonly #cache = createWatchCache({
    random: noJitter,
    store: this.#store,
    clock: new ManualClock(),
    logger: silentLogger,
    resources: cachedResources(defaultScope, kinds(orch)),
  });
  readonly #clock = new ManualClock();
  readonly transport: Transport;
  readonly madeByTurn = new Map<number, number>();
  #turn = 0;
  #closed = false;

  constructor() {
    const resources = new ResourceRegistry(kinds(orch), { cache: this.#cache, scope: defaultScope });
    const served = resources.find('', 'v1', 'configmaps');
    assert.ok(served);
    const woken = new Promise<void>((resolve) => setImmediate(resolve));
    const reply = (): ListReply => ({
      type: 'list',
      served,
      metadata: { resourceVersion: '1' },
      items: this.#items(),
      count: () => 0,
    });
    const responder = new Responder({
      config: { dialect: orch, features: { APIResponseCompression: false }, logger: silentLogger },
      clock: this.#clock,
      registry: { serve: ({ body }: VerbRequest) => (body ? done : woken.then(reply)) },
      heavy: {
        takesWrite: () => {
          this.#work();
          return false;
        },
        body: () => ({ value: {}, duplicates: [] }),
      },
      resources,
      metrics: new Metrics(),
      serverAddress: () => '',
    } as unknown as ConstructorParameters<typeof Responder>[0]);
    const handle = (exchange: Parameters<typeof contextOf>[0]): void => {
      const context = contextOf(exchange);
      if (exchange.method === 'POST') Object.assign(context, { ticket: { body: { bytes: largeBody } } });
      void responder.answer(context, responder.prepare(context));
    };
    this.transport = inProcessTransport(handle, () => {}, this.#clock);
    const count = (): void => {
      this.#turn += 1;
      if (!this.#closed) setImmediate(count);
    };
    count();
  }

  #work(): void {
    this.#clock.advance(1);
    this.madeByTurn.set(this.#turn, (this.madeByTurn.get(this.#turn) ?? 0) + 1);
  }

  *#items(): IterableIterator<CacheEntry> {
    for (let index = 0; index < itemsEach; index++) {
      const bytes = bytesOf(index);
      let made = false;
      const looked = (): Buffer => {
        if (made) return bytes;
        made = true;
        this.#work();
        return bytes;
      };
      // Plain JSON is sent from slab memory, other forms are encoded from the bytes.
      yield {
        get bytes() {
          return looked();
        },
        get memory() {
          return looked();
        },
        start: 0,
        end: bytes.length,
      } as CacheEntry;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#cache.close();
    await this.#store.close();
  }
}

describe('lists that resume together share one turn', () => {
  for (const [what, accept, query] of [
    ['JSON', 'application/json', ''],
    ['indented JSON', 'application/json', '?pretty=true'],
    ['tables', 'application/json;as=Table;g=meta.orch.io;v=v1', ''],
    ['metadata only', 'application/json;as=PartialObjectMetadataList;g=meta.orch.io;v=v1', ''],
    ['YAML', 'application/yaml', ''],
    ['protobuf', orch.protobufMediaType, ''],
  ] as const) {
    test(what, async () => {
      await using server = new Lists();
      const read = async (): Promise<number> => {
        const target = `/api/v1/configmaps${query}`;
        const { status, body } = await server.transport.send({ method: 'GET', target, headers: { accept } });
        for await (const _ of body);
        return status;
      };
      const answers = await Promise.all(Array.from({ length: lists }, read));
      assert.deepEqual(new Set(answers), new Set([200]));
      const made = [...server.madeByTurn.values()];
      assert.equal(
        made.reduce((sum, items) => sum + items, 0),
        lists * itemsEach,
      );
      assert.ok(Math.max(...made) <= limits.turnMs, `${Math.max(...made)} items in one turn`);
    });
  }
});

test('bodies that arrive together share one turn', async () => {
  await using server = new Lists();
  const headers = { 'content-type': 'application/json' };
  const write = async (): Promise<number> => {
    const target = '/api/v1/namespaces/n/configmaps';
    const { status, body } = await server.transport.send({ method: 'POST', target, headers, body: '{}' });
    for await (const _ of body);
    return status;
  };
  const answers = await Promise.all(Array.from({ length: lists }, write));
  assert.deepEqual(new Set(answers), new Set([200]));
  const made = [...server.madeByTurn.values()];
  assert.equal(
    made.reduce((sum, bodies) => sum + bodies, 0),
    lists,
  );
  assert.ok(Math.max(...made) <= limits.turnMs, `${Math.max(...made)} bodies in one turn`);
});
