import { withAnonymous } from '../authn/anonymous.ts';
import type { Authenticator, TokenAuthenticator } from '../authn/authenticator.ts';
import { bearerAuthenticator, tokenUnion } from '../authn/bearer.ts';
import { clientCertificateAuthenticator } from '../authn/client-certificate.ts';
import { staticTokenAuthenticator } from '../authn/static-token.ts';
import { unionAuthenticator } from '../authn/union.ts';
import { type Authorizer, forbidden } from '../authz/authorizer.ts';
import { masters } from '../authz/masters.ts';
import type { RbacIndex } from '../authz/rbac/rbac-index.ts';
import { unionAuthorizer } from '../authz/union.ts';
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
import { startControllers } from '../controllers/controllers.ts';
import type { Exchange } from '../http/exchange.ts';
import { listen } from '../http/listener.ts';
import type { Kind } from '../kinds/kind.ts';
import { kinds } from '../kinds/kinds.ts';
import type { KindPowers } from '../kinds/powers.ts';
import { authoritiesOf, TrustPool } from '../pki/trust-pool.ts';
import { Registry } from '../registry/registry.ts';
import { cachedResources, ResourceRegistry, type ServedResource } from '../registry/resource-registry.ts';
import type { ResourceRequest } from '../request/request-info.ts';
import type { UserInfo } from '../request/user-info.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { composeAdmission } from './admission.ts';
import { createNamespaces, serverUser } from './bootstrap.ts';
import { claimStore } from './claim-store.ts';
import { Compactor } from './compactor.ts';
import type { RunningServer, ServerConfig } from './config.ts';
import { ensureDefaultPolicy } from './default-policy.ts';
import { Health } from './health.ts';
import { kindPowers } from './kind-powers.ts';
import { servePipeline, stages } from './pipeline.ts';
import { openRbac, servedRbac } from './rbac.ts';
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
    const rbac = held.add(openRbac(resources, dialect));
    const authorizer = unionAuthorizer([masters, rbac.index]);
    const registry = openRegistry({ config, store, cache, resources, clock, authorizer, rbac: rbac.index });
    held.add(new Compactor({ store, clock, logger, windowMs: limits.historyMs }));
    const health = new Health({
      clock,
      logger,
      livezGraceMs: config.livezGraceMs,
      stopping: () => shutdown.stopping,
      cacheInStep: () => cache.revision > 0,
      storeTrouble: storeHealth(store, clock),
    });
    const tokens = tokenUnion([staticTokenAuthenticator(config.authentication.staticTokens)], []);
    powers = kindPowers({ authorizer, rules: rbac.index, tokens, apiAudiences: [], cache, resources });
    const inProcess = new WeakMap<Exchange, UserInfo>();
    const responder = new Responder({
      config,
      clock,
      registry,
      resources,
      health,
      metrics,
      serverAddress: () => (shutdown.listener ? `${shutdown.listener.address}:${shutdown.listener.port}` : ''),
    });
    const { clientAuthorities } = config.authentication;
    const clients = clientAuthorities.length > 0 ? new TrustPool(clientAuthorities.join('\n'), clock) : undefined;
    const handle = servePipeline(
      stages({
        clock,
        resources: held,
        dialect,
        authenticator: authenticatorOf(config, clients, tokens, inProcess),
        authorizer,
        inFlightMax: { reads: limits.readsInFlightMax, writes: limits.writesInFlightMax },
        refuse: (context, error) => responder.refuse(context, error),
        answer: (context) => responder.answer(context),
      }),
      (context, error) => responder.refuse(context, error),
    );
    const listener = await listen({
      tls: {
        cert: config.serving.certificate,
        key: config.serving.key,
        ...(clients && { ca: authoritiesOf([clients]) }),
      },
      address: config.listen.address,
      port: config.listen.port,
      handle,
      clock,
      logger,
    });
    shutdown.listener = listener;
    const controllers = new ClosableStack();
    shutdown.endWatches = () => {
      controllers.close();
      responder.endWatches();
    };
    await createNamespaces(registry, find(resources, '', 'v1', 'namespaces'), dialect);
    const ownTransport = inProcessTransport(handle, (exchange) => inProcess.set(exchange, serverUser));
    await ensureDefaultPolicy({
      dialect,
      client: new ApiClient(ownTransport, 'orch'),
      fresh: () => cache.fresh(),
      servedAs: (kind) => servedRbac(resources, dialect, kind),
    });
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
    const client = new ApiClient(ownTransport, dialect.controllerManager);
    controllers.add(startControllers(run, { client, clock, logger, dialect, rootAuthority }));
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

interface RegistryNeeds {
  readonly config: ServerConfig;
  readonly store: Store;
  readonly cache: WatchCache;
  readonly resources: ResourceRegistry;
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  readonly rbac: RbacIndex;
}

function openRegistry({ config, store, cache, resources, clock, authorizer, rbac }: RegistryNeeds): Registry {
  const { dialect, logger, features, admissionPlugins } = config;
  const admission = composeAdmission(admissionPlugins, { dialect, clock, cache, resources, authorizer, rbac });
  const requireCreate = async (info: ResourceRequest, user: UserInfo): Promise<void> => {
    const attributes: ResourceRequest = { ...info, verb: 'create' };
    const { verdict, reason } = await authorizer.authorize(attributes, user);
    if (verdict !== 'allow') throw forbidden(attributes, user, reason);
  };
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

function authenticatorOf(
  { dialect, authentication }: ServerConfig,
  clients: TrustPool | undefined,
  tokens: TokenAuthenticator,
  inProcess: WeakMap<Exchange, UserInfo>,
) {
  const own: Authenticator = { authenticate: (credentials) => inProcess.get(credentials as Exchange) };
  return withAnonymous(
    unionAuthenticator([
      own,
      ...(clients ? [clientCertificateAuthenticator({ dialect, pool: clients })] : []),
      bearerAuthenticator(tokens, []),
    ]),
    authentication.anonymous ? 'allow' : 'refuse',
  );
}

function find(resources: ResourceRegistry, group: string, version: string, resource: string): ServedResource {
  const served = resources.find(group, version, resource);
  if (!served) throw new Error(`${resource} are not served`);
  return served;
}
