import { type Closable, ClosableStack } from '../../base/disposable.ts';
import type { ApiClient } from '../../client/api-client.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { Listener } from '../../http/listener.ts';
import type { Transport } from '../../outbound/transport.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { createNamespaces } from '../upkeep/bootstrap.ts';
import { ensureDefaultPolicy } from '../upkeep/default-policy.ts';
import { type AccessParts, openAccess } from './access.ts';
import { makeBasis } from './basis.ts';
import type { ApiServerConfig, ExternalAddress, ListenAddress } from './config.ts';
import { type Environment, systemEnvironment } from './environment.ts';
import { startConsistencyChecker } from './open-cache.ts';
import { OwnClients } from './own-clients.ts';
import { startOwnControllers } from './own-controllers.ts';
import { servedRbac } from './rbac.ts';
import { servedNamespaces } from './served-namespaces.ts';
import { openServing, type Serving } from './serving.ts';
import { openStorage } from './storage.ts';

/** What a server listens with, closed with it. Without one it is served in process only. */
interface Attached extends Closable {
  readonly listener: Listener;
  /** Other authorities of clients are trusted from now on. */
  readonly authoritiesChanged: () => void;
}

/** A whole server, apart from listening. */
export interface ApiServer {
  /** Serves a request, wherever it comes from. */
  readonly handle: (exchange: Exchange) => void;
  /** What is served now; may be changed while the server runs. */
  readonly resources: ResourceRegistry;
  /** Requests in process, as this user: through the whole pipeline, without a connection. */
  transportAs(user: UserInfo): Transport;
  /** The same as a typed client; `name` is what it calls itself. */
  clientAs(user: UserInfo, name: string): ApiClient;
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
    const clients = new OwnClients((exchange) => serving.handle(exchange));
    const serverAddress = () => (attached ? hostAndPort(attached.listener, config.external) : '');
    const authoritiesChanged = () => attached?.authoritiesChanged();
    const parts: AccessParts = { ...basis, ...storage, clients, serverAddress, authoritiesChanged };
    const access = await openAccess(config, parts);
    const serving = openServing(config, { ...parts, ...access });
    const controllers = new ClosableStack();
    shutdown.endWatches = () => {
      controllers.close();
      serving.responder.endWatches();
    };
    return {
      handle: serving.handle,
      resources: storage.resources,
      transportAs: (user) => clients.transportAs(user),
      clientAs: (user, name) => clients.clientAs(user, name),
      authorities: () => access.authentication.authorities(),
      attach(to) {
        attached = to;
        shutdown.listener = to.listener;
        basis.held.add(to);
      },
      async start(beforeReady) {
        await makeInitialObjects(parts, serving);
        await access.authorization.reached(await storage.cache.fresh());
        basis.held.add(startConsistencyChecker(storage.cache, parts));
        await beforeReady?.();
        serving.health.started();
        void storage.measureHistory();
        controllers.add(startOwnControllers(config, { ...parts, ...access }));
      },
      stop: () => shutdown.stop(),
      done: shutdown.done,
    };
  } catch (error) {
    await shutdown.stop();
    throw error;
  }
}

/** What is there after every start: namespaces and the default policy. */
async function makeInitialObjects(
  { dialect, logger, clients, cache, resources }: AccessParts,
  { registry }: Serving,
): Promise<void> {
  await createNamespaces(registry, servedNamespaces(resources), dialect);
  await ensureDefaultPolicy({
    ...{ dialect, logger },
    client: clients.server,
    fresh: () => cache.fresh(),
    servedAs: (kind) => servedRbac(resources, dialect, kind),
  });
}

function hostAndPort(listening: ListenAddress, external: ExternalAddress | undefined): string {
  const { host = listening.address, port = listening.port } = external ?? {};
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
