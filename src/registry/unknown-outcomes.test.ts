import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { orch } from '../dialect/orch.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import { type Committed, type Store, StoreError } from '../store/store.ts';
import { RegistryFixture } from './registry-fixture.ts';
import {
  isOverwritten,
  overwrite,
  type Place,
  type SentRequest,
  type WriteRow,
  writeRows,
} from './write/write-rows-fixture.ts';

/** A write with an unknown outcome is not retried, on any write path. */

/** A store that loses the outcome of a write. */
class LossyStore {
  readonly #store: Store;
  loss: 'none' | 'request' | 'answer' = 'none';
  /** Runs after the write is lost and before the caller gets the error. */
  meanwhile: () => Promise<void> = async () => {};
  writes = 0;
  /** Which of the next writes is lost. */
  lost = 1;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The store passed to the server. */
  get asStore(): Store {
    return new Proxy(this.#store, {
      get: (store, name) => {
        const value: unknown = Reflect.get(store, name, store);
        if (typeof value !== 'function') return value;
        const call = (...args: unknown[]): unknown => Reflect.apply(value, store, args);
        const isWrite = name === 'create' || name === 'update' || name === 'delete';
        return isWrite ? (...args: unknown[]) => this.#write(() => call(...args) as Promise<Committed>) : call;
      },
    });
  }

  async #write(write: () => Promise<Committed>): Promise<Committed> {
    this.writes++;
    const { loss } = this;
    if (loss === 'none' || this.writes !== this.lost) return write();
    this.loss = 'none';
    if (loss === 'answer') await write();
    await this.meanwhile();
    throw new StoreError('unknownOutcome', 'the answer was lost');
  }
}

const namespace = 'n';

class Server implements AsyncDisposable {
  readonly fixture: RegistryFixture;

  private constructor(fixture: RegistryFixture) {
    this.fixture = fixture;
  }

  static async open(store: Store): Promise<Server> {
    return new Server(await RegistryFixture.open({ store }));
  }

  send({ method, path, patch, body }: SentRequest) {
    if (patch) this.fixture.patchType = patch;
    return this.fixture.call(method, path, structuredClone(body));
  }

  async objects(row: WriteRow, { name }: Place): Promise<readonly ApiObject[]> {
    return (await this.fixture.list(`${row.path(namespace)}?labelSelector=row%3D${name}`)).items;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture.cache.close();
  }
}

const fates = {
  'not done': { loss: 'request', overwritten: false },
  done: { loss: 'answer', overwritten: false },
  'done and overwritten since': { loss: 'answer', overwritten: true },
} as const;

for (const row of writeRows(orch.group('rbac.authorization'))) {
  describe(row.what, () => {
    for (const [what, { loss, overwritten }] of Object.entries(fates)) {
      test(`${what}: 504, and the write is not retried`, async () => {
        const memory = openMemoryStore();
        const lossy = new LossyStore(memory);
        await using server = await Server.open(lossy.asStore);
        await using others = await Server.open(memory);
        const place = { namespace, name: 'a', collection: row.path(namespace) };
        for (const sent of row.before(place)) await server.send(sent);
        const [found] = await server.objects(row, place);
        const sent = row.request(place, found);

        lossy.loss = loss;
        lossy.writes = 0;
        lossy.lost = row.writes ?? 1;
        if (overwritten) {
          lossy.meanwhile = async () => {
            for (const each of overwrite(row, place, await others.objects(row, place))) await others.send(each);
          };
        }
        await assert.rejects(server.send(sent), {
          reason: 'Timeout',
          code: 504,
          message: /: the outcome is unknown; read before you try again$/,
          details: {
            causes: [{ reason: 'UnknownOutcome', message: 'the write may have been done' }],
            retryAfterSeconds: 1,
          },
        });
        assert.equal(lossy.writes, lossy.lost);
        const objects = await others.objects(row, place);
        assert.equal(isOverwritten(objects), overwritten || false);
        if (!overwritten) assert.deepEqual(row.seen(objects), loss === 'answer' ? row.done : row.undone);
      });
    }
  });
}
