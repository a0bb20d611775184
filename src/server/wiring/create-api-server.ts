import type { Closable } from '../../base/disposable.ts';
import type { Listener } from '../../http/listener.ts';
import { authoritiesOf } from '../../pki/trust-pool.ts';
import { makeBasis } from './basis.ts';
import type { ApiServerConfig, ExternalAddress, ListenAddress } from './config.ts';
import { type Environment, systemEnvironment } from './environment.ts';
import { startConsistencyChecker } from './open-cache.ts';
import { OpenScopes, type ServedScope } from './open-scopes.ts';
import { openSharedParts } from './shared-parts.ts';
import { openStorage } from './storage.ts';

/** What a server listens with, closed with it. Without one it is served in process only. */
interface Attached extends Closable {
  readonly listener: Listener;
  /** Other authorities of clients are trusted from now on. */
  readonly authoritiesChanged: () => void;
}

/** A whole server, apart from listening. Its own requests are those of the default scope. */
export interface ApiServer extends Omit<ServedScope, 'close'> {
  /**
   * One more control plane over the same store: its own resources, objects, accounts, roles and controllers. Its name is a
   * DNS label; rejects where that one is open. Reached in process only.
   */
  openScope(name: string): Promise<ServedScope>;
  /** PEM of the authorities of clients' certificates; empty where none are asked for. */
  authorities(): readonly string[];
  /** From now on the server is reached, and stopped, by this listener. */
  attach(attached: Attached): void;
  /**
   * Makes what every server has: namespaces, default roles. Then it is ready, and its controllers start. `beforeReady` is
   * waited for before it is.
   */
  start(beforeReady?: () => void | Promise<void>): Promise<void>;
  /** Stops in order (design section 2). Resolves when all is closed; calling it again gives the same promise. */
  stop(): Promise<void>;
  /** Resolves once stopped; rejects when a part could not be closed. */
  readonly done: Promise<void>;
}

/**
 * Makes a server of its parts, in the order in which they need each other. What it has opened is closed when it fails, and
 * by `stop`. Fails with an error that says what to do about it.
 */
export async function createApiServer(
  config: ApiServerConfig,
  environment: Environment = systemEnvironment,
): Promise<ApiServer> {
  const basis = makeBasis(config, environment);
  const { shutdown } = basis;
  try {
    let attached: Attached | undefined;
    const storage = await openStorage(config, basis);
    const serverAddress = () => (attached ? hostAndPort(attached.listener, config.external) : '');
    const authoritiesChanged = () => attached?.authoritiesChanged();
    const shared = await openSharedParts(config, { ...basis, ...storage, serverAddress, authoritiesChanged });
    const scopes = new OpenScopes(config, shared);
    shutdown.add('scopes', () => scopes.close());
    shutdown.endWatches = () => scopes.endWatches();
    const { clients: authorities, proxies } = shared.identities;
    const first = await scopes.open(storage.tables.default);
    const { handle, resources, transportAs, clientAs } = first;
    return {
      ...{ handle, resources, transportAs, clientAs },
      authorities: () => authoritiesOf([authorities, proxies].filter((pool) => pool !== undefined)),
      attach(to) {
        attached = to;
        shutdown.listener = to.listener;
        basis.held.add(to);
      },
      async start(beforeReady) {
        await first.prepare();
        basis.held.add(startConsistencyChecker(storage.cache, shared));
        await beforeReady?.();
        shared.health.started();
        void storage.measureHistory();
        first.startControllers();
      },
      openScope: (name) => scopes.openNew(name),
      stop: () => shutdown.stop(),
      done: shutdown.done,
    };
  } catch (error) {
    await shutdown.stop();
    throw error;
  }
}

function hostAndPort(listening: ListenAddress, external: ExternalAddress | undefined): string {
  const { host = listening.address, port = listening.port } = external ?? {};
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
