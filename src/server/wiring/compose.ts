import { requirePermission, requireUnsafeDelete } from '../../authz/authorizer.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { type Closable, ClosableStack } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { Metrics } from '../../base/metrics.ts';
import { systemRandom } from '../../base/random.ts';
import type { WatchCache } from '../../cache/cache.ts';
import { sendStatus } from '../../content/status.ts';
import { type ListenOptions, listen } from '../../http/listener.ts';
import { kinds } from '../../kinds/kinds.ts';
import type { KindServices } from '../../kinds/services.ts';
import { Registry } from '../../registry/registry.ts';
import type { RegistryParts } from '../../registry/verb.ts';
import { parseRequestInfo, type ResourceRequest } from '../../request/request-info.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import { accessCounts } from '../serving/access-counts.ts';
import { FlowControl } from '../serving/flow-control/flow-control.ts';
import { HeavyWork } from '../serving/heavy/heavy-work.ts';
import { JobThread } from '../serving/heavy/job-thread.ts';
import { accessLog } from '../serving/observe/access-log.ts';
import { assignAuditId } from '../serving/observe/audit-id.ts';
import { observeEventLoopDelay } from '../serving/observe/event-loop-delay.ts';
import { RequestMetrics } from '../serving/observe/request-metrics.ts';
import type { RequestObserver } from '../serving/observe/request-observer.ts';
import { tracing } from '../serving/observe/tracing.ts';
import { servePipeline, stages } from '../serving/pipeline.ts';
import { Responder } from '../serving/responder.ts';
import { createNamespaces, managerUser, serverUser, systemAccount } from '../upkeep/bootstrap.ts';
import { claimStore } from '../upkeep/claim-store.ts';
import { Compactor } from '../upkeep/compactor.ts';
import { ensureDefaultPolicy } from '../upkeep/default-policy.ts';
import { Health } from '../upkeep/health.ts';
import { expireObjects } from '../upkeep/object-expiry.ts';
import { Shutdown } from '../upkeep/shutdown.ts';
import { earlyCompactions, storageMetrics } from '../upkeep/storage-metrics.ts';
import { storeHealth } from '../upkeep/store-health.ts';
import { type AdmissionLookups, admissionLookups, composeAdmission } from './admission.ts';
import { type Authentication, openAuthentication } from './authentication.ts';
import { type Authorization, openAuthorization } from './authorization.ts';
import type { ExternalAddress, ListenAddress, RunningServer, ServerConfig } from './config.ts';
import { identityObjects } from './identity-objects.ts';
import { kindServices } from './kind-services.ts';
import { namespaceIdentity } from './namespace-identity.ts';
import { openCache, startConsistencyChecker } from './open-cache.ts';
import { OwnClients } from './own-clients.ts';
import { type OwnControllersOptions, runOwnControllers } from './own-controllers.ts';
import { servedRbac } from './rbac.ts';
import { ServedCertificates } from './served-certificates.ts';

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
    const compactor = new Compactor({
      ...{ store, clock, logger },
      windowMs: limits.historyMs,
      bytesMax: limits.historyBytesMax,
      earlyCompactions: earlyCompactions(metrics),
    });
    shutdown.add('compactor', () => compactor.close());
    const { cache, resources } = await openCache(kinds(dialect), {
      ...{ store, clock, logger, metrics },
      historyGrew: (bytes, revision) => compactor.historyGrew(bytes, revision),
    });
    shutdown.add('cache', () => cache.close());
    const held = new ClosableStack();
    shutdown.add('timers', () => held.close());
    const clients = new OwnClients((exchange) => handle(exchange));
    const ownClient = clients.clientAs(serverUser, 'orch');
    const serverAddress = () => (shutdown.listener ? hostAndPort(shutdown.listener, config.external) : '');
    const base = { dialect, clock, random: systemRandom, logger, metrics, held };
    const authorization = await openAuthorization({ ...base, config: config.authorization, resources });
    const { authorizer } = authorization;
    const browsers = await forBrowsers(config);
    const authentication = await openAuthentication({
      ...base,
      allowsOrigin: browsers.allowsOrigin,
      config: config.authentication,
      objects: identityObjects(cache, resources),
      own: clients.authenticator,
      client: ownClient,
      externalAddress: serverAddress,
      allowsEverything: authorization.types.has('AlwaysAllow'),
      authoritiesChanged: () => shutdown.listener?.setTls(certificates.material),
    });
    const services = composeServices(config, { authentication, authorization, cache, resources });
    const registryParts = composeRegistryParts({ config, services, store, cache, resources, clock, authorization });
    const registry = new Registry(registryParts);
    const thread = new JobThread({ clock, logger });
    shutdown.add('the thread for heavy work', () => thread.close());
    const clusterId = `${storageNames[config.storage.backend]}-0`;
    storageMetrics({ metrics, clock, store, compactor, resources, clusterId });
    held.add(expireObjects({ timesToLiveMs: config.timesToLiveMs, resources, cache, store, clock, logger }));
    const { timeoutMs: requestMsMax } = config.requests;
    const flowControl = held.add(
      new FlowControl({
        ...{ clock, dialect, metrics },
        max: config.requests.inFlightMax,
        requestMsMax,
        isOwn: clients.isOwn,
        hasRole: authorization.hasRole,
      }),
    );
    const health = new Health({
      clock,
      logger,
      livezGraceMs: config.livezGraceMs,
      stopping: () => shutdown.stopping,
      cacheInStep: () => cache.revision > 0,
      storeTrouble: storeHealth(store, clock),
      writeTrouble: () => flowControl.writeTrouble(),
    });
    const responder = new Responder({
      config,
      clock,
      registry,
      resources,
      health,
      metrics,
      heavy: new HeavyWork({ ...registryParts, admissionPlugins: config.admissionPlugins, registry, thread }),
      serverAddress,
      issuerDiscovery: authentication.serviceAccounts?.discovery,
    });
    const observers = requestObservers(config, metrics, resources);
    held.add(observeEventLoopDelay(metrics));
    const handle = servePipeline(
      stages({
        clock,
        resources: held,
        dialect,
        authenticator: authentication.authenticator,
        requestHeaders: config.authentication.requestHeader?.names,
        authorizer,
        counts: accessCounts(metrics),
        flowControl,
        requestMsMax,
        random: systemRandom,
        observers,
        refuse: (context, error) => responder.refuse(context, error),
        prepare: (context) => responder.prepare(context),
        answer: (context, operation) => responder.answer(context, operation),
      }),
      { refuse: (context, error) => responder.refuse(context, error), flowControl, observers },
    );
    const certificates = new ServedCertificates(config, () => authentication.authorities());
    const { streamsPerConnectionMax, goawayChance } = config.tls;
    const listener = await listen({
      ...config.listen,
      ...{ tls: certificates.material, clock, logger },
      goaway: { chance: goawayChance, random: systemRandom },
      refuse(exchange, error) {
        assignAuditId(exchange, systemRandom);
        sendStatus(exchange, error, { clock, logger });
      },
      ...browsers.listenOptions(handle),
      limits: { requestMsMax, streamsPerConnectionMax },
    });
    shutdown.listener = listener;
    held.add(certificates.follow(listener));
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
    held.add(startConsistencyChecker(cache, { store, clock, logger, metrics }));
    await config.beforeReady?.(listener);
    health.started();
    controllers.add(startOwnControllers(config, clients, authentication, { ...base, resources }));
    const { address, port } = listener;
    return { address, port, resources, stop: () => shutdown.stop(), done: shutdown.done };
  } catch (error) {
    await shutdown.stop();
    throw error;
  }
}

function requestObservers(
  { accessLog: logs, logger }: ServerConfig,
  metrics: Metrics,
  resources: ResourceRegistry,
): readonly RequestObserver[] {
  const find = ({ group, version, resource }: ResourceRequest) => resources.find(group, version, resource);
  return [new RequestMetrics(metrics, find), tracing(), ...(logs ? [accessLog(logger)] : [])];
}

interface Browsers {
  readonly allowsOrigin: (origin: string) => boolean;
  /** What the listener does for browsers. */
  readonly listenOptions: (handle: ListenOptions['handle']) => Pick<ListenOptions, 'handle' | 'headers' | 'upgrades'>;
}

async function forBrowsers({ allowedOrigins, strictTransportSecurity }: ServerConfig): Promise<Browsers> {
  const headers = strictTransportSecurity === undefined ? {} : { 'strict-transport-security': strictTransportSecurity };
  const upgrades = isWatch;
  if (!allowedOrigins || allowedOrigins.length === 0) {
    return { allowsOrigin: () => false, listenOptions: (handle) => ({ handle, headers, upgrades }) };
  }
  // Loaded where it is used: the engine of expressions is part of every start otherwise.
  const { allowOrigins, originTest } = await import('../serving/cross-origin.ts');
  const allowsOrigin = originTest(allowedOrigins);
  return {
    allowsOrigin,
    listenOptions: (handle) => ({
      handle: allowOrigins(allowsOrigin, { handle, random: systemRandom }),
      // What one origin was answered must not be taken from a cache for another (Fetch standard, section 3.2.5).
      headers: { ...headers, vary: 'origin' },
      upgrades,
    }),
  };
}

/** Watches alone may be WebSockets. */
function isWatch(target: string): boolean {
  try {
    return parseRequestInfo('GET', target).verb === 'watch';
  } catch {
    return false; // It cannot be read: the pipeline says why.
  }
}

interface Base extends Pick<OwnControllersOptions, 'clock' | 'random' | 'logger' | 'dialect'> {
  readonly resources: ResourceRegistry;
}

function startOwnControllers(
  { controllers, storage }: ServerConfig,
  clients: OwnClients,
  { serviceAccounts }: Authentication,
  { clock, random, logger, dialect, resources }: Base,
): Closable {
  const { controllerManager: name } = dialect;
  const issuer = serviceAccounts?.issuer;
  return runOwnControllers({
    ...{ clock, random, logger, dialect },
    ...controllers,
    onGroupsChanged: (listener) =>
      resources.onChange(({ added, removed }) =>
        listener(new Set([...added, ...removed].map(({ kind }) => kind.group))),
      ),
    shared: storage.backend === 'etcd3',
    client: clients.clientAs(managerUser(dialect), name),
    clientOf: (account) => clients.clientAs(systemAccount(dialect, account), name),
    ...(issuer && { signSecretToken: issuer.issueLegacy }),
  });
}

/** What published metrics call the program that objects are kept in. */
const storageNames = { sqlite: 'sqlite', etcd3: 'etcd', memory: 'memory' } as const;

interface ServiceNeeds {
  readonly authentication: Authentication;
  readonly authorization: Authorization;
  readonly cache: WatchCache;
  readonly resources: ResourceRegistry;
}

function composeServices(
  { authentication: { apiAudiences } }: ServerConfig,
  { authentication: { tokens, serviceAccounts }, authorization, cache, resources }: ServiceNeeds,
): KindServices {
  const issuer = serviceAccounts?.issuer;
  const issuing = issuer && {
    tokenLifetime: serviceAccounts.lifetime,
    issueToken: issuer.issue,
  };
  return kindServices({ ...authorization, tokens, apiAudiences, cache, resources, ...(issuing && { issuing }) });
}

interface RegistryNeeds {
  readonly config: ServerConfig;
  readonly services: KindServices;
  readonly store: Store;
  readonly cache: WatchCache;
  readonly resources: ResourceRegistry;
  readonly clock: Clock;
  readonly authorization: Authorization;
}

function composeRegistryParts(needs: RegistryNeeds): RegistryParts & { readonly lookups: AdmissionLookups } {
  const { config, services, store, cache, resources, clock, authorization } = needs;
  const { dialect, logger, features, admissionPlugins } = config;
  const { authorizer, index: rbac } = authorization;
  const lookups = admissionLookups({ cache, resources, authorizer, rbac });
  const admission = composeAdmission(admissionPlugins, { dialect, clock, resources, lookups });
  const requireCreate = (info: ResourceRequest, user: UserInfo) =>
    requirePermission(authorizer, { ...info, verb: 'create' }, user);
  return {
    resources,
    store,
    cache,
    lookups,
    admission,
    services,
    requireCreate,
    isSameNamespace: namespaceIdentity(find(resources, '', 'v1', 'namespaces'), store),
    requireUnsafeDelete: (info, user) => requireUnsafeDelete(authorizer, info, user),
    unsafeDeletion: features.AllowUnsafeMalformedObjectDeletion,
    watchMsMin: config.requests.watchMsMin,
    dialect,
    clock,
    random: systemRandom,
    logger,
  };
}

function find(resources: ResourceRegistry, group: string, version: string, resource: string): ServedResource {
  const served = resources.find(group, version, resource);
  if (!served) throw new Error(`${resource} are not served`);
  return served;
}

function hostAndPort(listening: ListenAddress, external: ExternalAddress | undefined): string {
  const { host = listening.address, port = listening.port } = external ?? {};
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
