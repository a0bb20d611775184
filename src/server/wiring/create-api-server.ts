import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { inTime } from '../../base/time/in-time.ts';
import type { Listener } from '../../http/listener.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { authoritiesOf } from '../../pki/trust-pool.ts';
import type { Store } from '../../store/store.ts';
import { observeHandshakes } from '../serving/observe/connection-metrics.ts';
import type { TrustedAuthorities } from '../upkeep/authentication-trust.ts';
import type { ServerPresence } from '../upkeep/server-presence.ts';
import { makeBasis } from './basis.ts';
import { startConsistencyCheckers } from './caches.ts';
import type { ApiServerConfig, ExternalAddress, ListenAddress } from './config.ts';
import { type Environment, systemEnvironment } from './environment.ts';
import { OpenScopes, type ServedScope } from './scopes/open-scopes.ts';
import { openSharedParts } from './scopes/shared-parts.ts';
import { openStorage } from './storage.ts';

/** A listener attached to a server, closed with it. Without one the server is reached in process only. */
interface Attached extends Closable {
  readonly listener: Listener;
  /** Called when the authorities of clients have changed. */
  readonly authoritiesChanged: () => void;
}

/** Work that may have requests of the server's own under way. */
interface Ending {
  readonly name: string;
  end(): Promise<void>;
}

/** A complete server without a listener. Its own methods serve the default scope. */
export interface ApiServer extends Omit<ServedScope, 'close'> {
  /**
   * Opens another control plane over the same store: separate resources, objects, accounts, roles and controllers,
   * reached in process only. The name is a DNS label; rejects if that scope is already open.
   */
  openScope(name: string): Promise<ServedScope>;
  /** Creates an object that is part of the program, once the initial objects are there (`ScopeServer.createInitial`). */
  createInitial(object: ApiObject): Promise<boolean>;
  /** For records of the server's own: the store that has what no resource has. */
  readonly store: Store;
  /** The servers that share the store. Undefined if none can. */
  readonly presence: ServerPresence | undefined;
  /** PEM of the client certificate authorities; empty if no certificates are requested. */
  authorities(): readonly string[];
  /** The same, of clients and of proxies apart. */
  trusted(): TrustedAuthorities;
  /** Sets the listener by which the server is reached, and which stops with it. */
  attach(attached: Attached): void;
  /** Closes something with the server. */
  hold(closable: Closable): void;
  /** Has work end with the server before all that it needs. It gets as much time as requests do. */
  endFirst(work: Ending): void;
  /**
   * Creates the initial objects (namespaces, default roles), waits for `beforeReady`, becomes ready, and starts the
   * controllers.
   */
  start(beforeReady?: () => void | Promise<void>): Promise<void>;
  /** Stops in the order of design section 2. Resolves when all is closed; further calls return the same promise. */
  stop(): Promise<void>;
  /** Resolves once stopped; rejects if a part could not be closed. */
  readonly done: Promise<void>;
}

/**
 * Builds a server from its parts, in dependency order. Closes what was opened on failure and in `stop`. Errors say what
 * to do about them.
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
    observeHandshakes(basis.metrics, () => attached?.listener.handshakeErrors ?? 0);
    const serverAddress = () => (attached ? hostAndPort(attached.listener, config.external) : '');
    const authoritiesChanged = () => attached?.authoritiesChanged();
    const shared = await openSharedParts(config, { ...basis, ...storage, serverAddress, authoritiesChanged });
    const scopes = new OpenScopes(config, shared);
    shutdown.add('scopes', () => scopes.close());
    shutdown.endWatches = () => scopes.endWatches();
    const { clients, proxies } = shared.identities;
    const first = await scopes.open(storage.tables.default);
    const { handle, resources, transportAs, clientAs, createInitial } = first;
    return {
      ...{ handle, resources, transportAs, clientAs, createInitial },
      store: storage.stores[0].store,
      presence: storage.presence,
      authorities: () => authoritiesOf([clients, proxies].filter((pool) => pool !== undefined)),
      trusted: () => ({ clients: clients?.authorities ?? [], proxies: proxies?.authorities ?? [] }),
      attach(to) {
        attached = to;
        shutdown.listener = to.listener;
        basis.held.add(to);
      },
      hold: (closable) => void basis.held.add(closable),
      endFirst: (work) => shutdown.add(work.name, () => inTime(work.end(), limits.drainMsMax, basis)),
      async start(beforeReady) {
        await first.prepare();
        basis.held.add(startConsistencyCheckers(storage.stores, shared));
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
