import { requirePermission } from '../authz/authorizer.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { ClosableStack } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import { Metrics } from '../base/metrics.ts';
import { systemRandom } from '../base/random.ts';
import type { WatchCache } from '../cache/cache.ts';
import { ConsistencyChecker } from '../cache/consistency-checker.ts';
import { createWatchCache } from '../cache/watch-cache.ts';
import { ApiClient } from '../client/api-client.ts';
import { inProcessTransport } from '../client/in-process.ts';
import type { Exchange } from '../http/exchange.ts';
import { listen, type TlsMaterial } from '../http/listener.ts';
import type { Kind } from '../kinds/kind.ts';
import { kinds } from '../kinds/kinds.ts';
import type { KindPowers } from '../kinds/powers.ts';
import { Registry } from '../registry/registry.ts';
import { cachedResources, ResourceRegistry, type ServedResource } from '../registry/resource-registry.ts';
import type { ResourceRequest } from '../request/request-info.ts';
import type { UserInfo } from '../request/user-info.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { accessCounts } from './access-counts.ts';
import { composeAdmission } from './admission.ts';
import { type Authentication, openAuthentication } from './authentication.ts';
import { type Authorization, openAuthorization } from './authorization.ts';
import { createNamespaces, managerUser, serverUser, systemAccount } from './bootstrap.ts';
import { claimStore } from './claim-store.ts';
import { Compactor } from './compactor.ts';
import type { ListenAddress, RunningServer, ServerConfig } from './config.ts';
import { ensureDefaultPolicy } from './default-policy.ts';
import { Health } from './health.ts';
import { identityObjects } from './identity-objects.ts';
import { kindPowers } from './kind-powers.ts';
import { expireObjects } from './object-expiry.ts';
import { runOwnControllers } from './own-controllers.ts';
import { servePipeline, stages } from './pipeline.ts';
import { servedRbac } from './rbac.ts';
import { Responder } from './responder.ts';
import { Shutdown } from './shutdown.ts';
import { storeHealth } from './store-health.ts';

/** Starts a server: the one place where its parts are wired. Fails with an error that says what to do about it. */
export async function startServer(config: ServerConfig): Promise<RunningServer> {
  const clock = systemClock;
  const { dialect, logger } = config;
  const shutdown = new Shutdown({ clock, logger, delayMs: config.shutdownDelayMs, drainMs: limits.drainMsMax });
  try {
    const store = await openStore(config.storage.backend === 'memory' ? config.storage : { ...config.storage, logger });
    shutdown.add('store', () => store.close());
    await claimStore(store, dialect.name);
    const metrics = new Metrics();
    let powers: KindPowers | undefined;
    const all = kinds(dialect, () => powers ?? notYet());
    const { cache, resources } = await openCache(config, { all, store, clock, metrics });
    shutdown.add('cache', () => cache.close());
    const held = new ClosableStack();
    shutdown.add('timers', () => held.close());
    const inProcess = new WeakMap<Exchange, UserInfo>();
    /** Speaks with this server from within, as that user. */
    const clientAs = (user: UserInfo, name: string): ApiClient =>
      new ApiClient(
        inProcessTransport(
          (exchange) => handle(exchange),
          (exchange) => inProcess.set(exchange, user),
        ),
        name,
      );
    const ownClient = clientAs(serverUser, 'orch');
    const serverAddress = () => (shutdown.listener ? hostAndPort(shutdown.listener) : '');
    const base = { dialect, clock, random: systemRandom, logger, metrics, held };
    const authorization = await openAuthorization({ ...base, config: config.authorization, resources });
    const { authorizer } = authorization;
    const authentication = await openAuthentication({
      ...base,
      config: config.authentication,
      objects: identityObjects(cache, resources),
      own: { authenticate: (credentials) => inProcess.get(credentials as Exchange) },
      client: ownClient,
      externalAddress: serverAddress,
      allowsEverything: authorization.types.has('AlwaysAllow'),
      authoritiesChanged: () => shutdown.listener?.setTls(tls()),
    });
    powers = composePowers(config, { authentication, authorization, cache, resources });
    const registry = openRegistry({ config, store, cache, resources, clock, authorization });
    held.add(new Compactor({ store, clock, logger, windowMs: limits.historyMs }));
    held.add(expireObjects({ timesToLiveMs: config.timesToLiveMs, resources, cache, store, clock, logger }));
    const health = new Health({
      clock,
      logger,
      livezGraceMs: config.livezGraceMs,
      stopping: () => shutdown.stopping,
      cacheInStep: () => cache.revision > 0,
      storeTrouble: storeHealth(store, clock),
    });
    const responder = new Responder({
      config,
      clock,
      registry,
      resources,
      health,
      metrics,
      serverAddress,
      issuerDiscovery: authentication.serviceAccounts?.discovery,
    });
    const handle = servePipeline(
      stages({
        clock,
        resources: held,
        dialect,
        authenticator: authentication.authenticator,
        requestHeaders: config.authentication.requestHeader?.names,
        authorizer,
        counts: accessCounts(metrics),
        inFlightMax: { reads: limits.readsInFlightMax, writes: limits.writesInFlightMax },
        refuse: (context, error) => responder.refuse(context, error),
        answer: (context) => responder.answer(context),
      }),
      (context, error) => responder.refuse(context, error),
    );
    const tls = (): TlsMaterial => ({
      cert: config.serving.certificate,
      key: config.serving.key,
      ...(authentication.authorities().length > 0 && { ca: authentication.authorities() }),
    });
    const { address, port } = config.listen;
    const listener = await listen({ tls: tls(), address, port, handle, clock, logger });
    shutdown.listener = listener;
    const controllers = new ClosableStack();
    shutdown.endWatches = () => {
      controllers.close();
      responder.endWatches();
    };
    await createNamespaces(registry, find(resources, '', 'v1', 'namespaces'), dialect);
    await ensureDefaultPolicy({
      dialect,
      logger,
      client: ownClient,
      fresh: () => cache.fresh(),
      servedAs: (kind) => servedRbac(resources, dialect, kind),
    });
    await authorization.reached(await cache.fresh());
    const mismatches = counter(
      metrics,
      'orch_cache_mismatches_total',
      'Resources that were found to differ from the store.',
    );
    const checker = new ConsistencyChecker({ cache, store, clock, logger, metrics: { mismatches } });
    checker.start();
    held.add(checker);
    await config.beforeReady?.(listener);
    health.started();
    const { run, rootAuthority } = config.controllers;
    const { controllerManager } = dialect;
    const client = clientAs(managerUser(dialect), controllerManager);
    const clientOf = (account: string) => clientAs(systemAccount(dialect, account), controllerManager);
    const issuer = authentication.serviceAccounts?.issuer;
    const signing = issuer && { signSecretToken: issuer.issueLegacy };
    const shared = config.storage.backend === 'etcd3';
    controllers.add(runOwnControllers({ ...base, run, shared, client, clientOf, rootAuthority, ...signing }));
    return { address: listener.address, port: listener.port, stop: () => shutdown.stop(), done: shutdown.done };
  } catch (error) {
    await shutdown.stop();
    throw error;
  }
}

function counter(metrics: Metrics, name: string, help: string): { inc(): void } {
  const series = metrics.counter({ name, help, labels: [] });
  return { inc: () => series.add({}) };
}

/** Requests come after the start. */
function notYet(): never {
  throw new Error('the server has not started yet');
}

interface CacheNeeds {
  readonly all: readonly Kind[];
  readonly store: Store;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

async function openCache(
  { logger }: ServerConfig,
  { all, store, clock, metrics }: CacheNeeds,
): Promise<{ readonly cache: WatchCache; readonly resources: ResourceRegistry }> {
  const cache = createWatchCache({
    store,
    clock,
    logger,
    resources: cachedResources(all),
    metrics: {
      reloads: counter(metrics, 'orch_cache_reloads_total', 'Resources read anew from the store after the start.'),
      slowWatches: counter(
        metrics,
        'orch_cache_slow_watches_total',
        'Watches closed because their client read too slowly.',
      ),
      unreadableValues: counter(
        metrics,
        'orch_cache_unreadable_values_total',
        'Stored values that are no objects of their resource.',
      ),
    },
  });
  await cache.ready();
  return { cache, resources: new ResourceRegistry(all, cache) };
}

interface PowerNeeds {
  readonly authentication: Authentication;
  readonly authorization: Authorization;
  readonly cache: WatchCache;
  readonly resources: ResourceRegistry;
}

function composePowers(
  { authentication: { apiAudiences } }: ServerConfig,
  { authentication: { tokens, serviceAccounts }, authorization, cache, resources }: PowerNeeds,
): KindPowers {
  const issuer = serviceAccounts?.issuer;
  const issuing = issuer && {
    tokenLifetime: serviceAccounts.lifetime,
    issueToken: issuer.issue,
  };
  return kindPowers({ ...authorization, tokens, apiAudiences, cache, resources, ...(issuing && { issuing }) });
}

interface RegistryNeeds {
  readonly config: ServerConfig;
  readonly store: Store;
  readonly cache: WatchCache;
  readonly resources: ResourceRegistry;
  readonly clock: Clock;
  readonly authorization: Authorization;
}

function openRegistry({ config, store, cache, resources, clock, authorization }: RegistryNeeds): Registry {
  const { dialect, logger, features, admissionPlugins } = config;
  const { authorizer, index: rbac } = authorization;
  const admission = composeAdmission(admissionPlugins, { dialect, clock, cache, resources, authorizer, rbac });
  const requireCreate = (info: ResourceRequest, user: UserInfo) =>
    requirePermission(authorizer, { ...info, verb: 'create' }, user);
  return new Registry({
    resources,
    store,
    cache,
    admission,
    requireCreate,
    unsafeDeletion: features.AllowUnsafeMalformedObjectDeletion,
    dialect,
    clock,
    random: systemRandom,
    logger,
  });
}

function find(resources: ResourceRegistry, group: string, version: string, resource: string): ServedResource {
  const served = resources.find(group, version, resource);
  if (!served) throw new Error(`${resource} are not served`);
  return served;
}

const hostAndPort = ({ address, port }: ListenAddress): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
