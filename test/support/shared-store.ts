import { within } from '../../src/base/waits-fixture.ts';
import type { ApiServerConfig, StorageConfig } from '../../src/server/wiring/config.ts';
import { type ApiServer, createApiServer } from '../../src/server/wiring/create-api-server.ts';
import { type Environment, systemEnvironment } from '../../src/server/wiring/environment.ts';
import { openMemoryStore } from '../../src/store/drivers/memory/memory-store.ts';
import type { ChangeBatch, Store } from '../../src/store/store.ts';
import { memoryConfiguration } from './server-configuration.ts';

type Intercept = (method: string, args: readonly unknown[]) => Promise<void> | undefined;

/** Holds up what a server hears of the store: it is behind, but reads and writes single objects. */
export class Lag {
  #held: PromiseWithResolvers<void> | undefined;

  hold(): void {
    this.#held ??= Promise.withResolvers();
  }

  release(): void {
    this.#held?.resolve();
    this.#held = undefined;
  }

  /** The changes, as they come while nothing is held up. */
  async *delay(changes: AsyncIterable<ChangeBatch>): AsyncIterableIterator<ChangeBatch> {
    for await (const batch of changes) {
      await this.#held?.promise;
      yield batch;
    }
  }
}

/** Storage of which these resources (`group/resource`) are in the other store. */
export const withOther = (...resources: readonly string[]): StorageConfig => ({
  ...{ backend: 'etcd3', endpoints: ['main'], prefix: '/registry' },
  overrides: resources.map((each) => {
    const [group = '', resource = ''] = each.split('/');
    return { group, resource, endpoints: ['other'] };
  }),
});

/** Servers on one store, one after the other or side by side. All are stopped at the end. */
export class SharedStore implements AsyncDisposable {
  /** Without any server. */
  readonly store: Store = openMemoryStore();
  /** What servers find by the endpoint `other`. */
  readonly other: Store = openMemoryStore();
  readonly #servers = new Set<ApiServer>();
  /** Is called before each operation of the store. */
  intercept: Intercept = () => undefined;
  /** How servers learn how far the store is: by asking it, as of etcd, or without. */
  readonly #head: 'asked' | 'known';

  constructor({ head = 'known' }: { readonly head?: 'asked' | 'known' } = {}) {
    this.#head = head;
  }

  async start(lag = new Lag(), config: Partial<ApiServerConfig> = {}, otherLag = lag): Promise<ApiServer> {
    const server = await this.open(lag, config, otherLag);
    await within(server.start(), 'the server is not ready');
    return server;
  }

  /** A server that answers, and has not started. */
  async open(lag = new Lag(), config: Partial<ApiServerConfig> = {}, otherLag = lag): Promise<ApiServer> {
    const environment: Environment = {
      ...systemEnvironment,
      openStore: async (storage) =>
        storage.backend === 'etcd3' && storage.endpoints.includes('other')
          ? this.#shared(this.other, otherLag)
          : this.#shared(this.store, lag),
    };
    const server = await createApiServer({ ...memoryConfiguration, ...config }, environment);
    this.#servers.add(server);
    return server;
  }

  /** The store as one server sees it: it may close it, and the others go on. */
  #shared(shared: Store, lag: Lag): Store {
    return new Proxy<Store>(shared, {
      get: (store, name) => {
        if (name === 'knownHead' && this.#head === 'asked') return undefined;
        const value: unknown = Reflect.get(store, name);
        if (typeof value !== 'function') return value;
        if (name === 'close') return async () => {};
        if (name === 'changes') {
          return (...args: Parameters<Store['changes']>) => lag.delay(store.changes(...args));
        }
        return (...args: readonly unknown[]) => {
          const before = this.intercept(String(name), args);
          return before ? before.then(() => value.apply(store, args)) : value.apply(store, args);
        };
      },
    });
  }

  async stop(server: ApiServer): Promise<void> {
    this.#servers.delete(server);
    await server.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await server.stop();
    await Promise.all([this.store.close(), this.other.close()]);
  }
}
