import { namesSynced } from '../../base/atomic-file.ts';
import type { Closable } from '../../base/disposable.ts';
import { sendStatus } from '../../content/status.ts';
import { type Listener, listen } from '../../http/listener.ts';
import { defaultServiceRanges, servicePools } from '../../kinds/core/service/service-pools.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { parseIpRange } from '../../meta/ip-range.ts';
import { assignAuditId } from '../serving/observe/audit-id.ts';
import { ApiService } from '../upkeep/api-service.ts';
import { authenticationTrust } from '../upkeep/authentication-trust.ts';
import { serverUser } from '../upkeep/bootstrap.ts';
import { ClusterInfo } from '../upkeep/cluster-info.ts';
import { DefaultServiceRange } from '../upkeep/default-service-range.ts';
import { Lead } from '../upkeep/lead.ts';
import { legacyTokenTracking } from '../upkeep/legacy-token-tracking.ts';
import { SystemConfigMaps } from '../upkeep/system-config-maps.ts';
import { mayUpgrade } from './access/cors.ts';
import { ServedCertificates } from './access/served-certificates.ts';
import type { RunningServer, ServerConfig } from './config.ts';
import { type ApiServer, createApiServer } from './create-api-server.ts';
import { type Environment, systemEnvironment } from './environment.ts';

/** Starts a server that listens. Errors say what to do about them. */
export async function startServer(
  config: ServerConfig,
  environment: Environment = systemEnvironment,
): Promise<RunningServer> {
  const { lead = new Lead(true) } = config;
  const server = await createApiServer({ ...config, lead }, environment);
  try {
    const early = config.listensReady ? undefined : await listenFor(server, config, environment);
    const publish = async (listener: Listener): Promise<void> => {
      await Promise.all([
        publishClusterInfo(server, config, { ...environment, listener }),
        keepSystemConfigMaps(server, config, environment),
      ]);
    };
    await server.start(async () => {
      // Keys and certificates that were made are to outlive a crash, like objects.
      await namesSynced();
      if (!early) return;
      await config.beforeReady?.(early);
      if (lead.leads) await publish(early);
    });
    const listener = early ?? (await listenFor(server, config, environment));
    if (!early || !lead.leads) server.hold(lead.begin(() => publishLater(() => publish(listener), config)));
    const { address, port } = listener;
    server.hold(
      lead.begin(() => {
        keepApiService(server, config, { ...environment, port });
        keepServiceRange(server, config, environment);
        return { close() {} };
      }),
    );
    const { resources, done } = server;
    return { address, port, resources, stop: () => server.stop(), done };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

function publishLater(publish: () => Promise<void>, { logger }: Pick<ServerConfig, 'logger'>): Closable {
  publish().catch((error: unknown) => logger.warn('connection data could not be published', { error }));
  return { close() {} };
}

/** Looks after the service of the API, from after the start on. */
function keepApiService(
  server: ApiServer,
  { dialect, logger, serviceRanges = defaultServiceRanges, apiService }: ServerConfig,
  { clock, port }: Pick<Environment, 'clock'> & { readonly port: number },
): void {
  if (!apiService) return;
  const { address, nodePort } = apiService;
  const [pool] = servicePools(serviceRanges, dialect);
  if (!pool || pool.size === 0) return;
  const client = server.clientAs(serverUser, dialect.apiServer);
  const service = new ApiService({
    client,
    dialect,
    clock,
    logger,
    clusterIp: pool.valueAt(0),
    port,
    nodePort,
    address,
    servers: server.presence,
  });
  server.endFirst({ name: 'the service of the API', end: () => service.end() });
  service.start();
}

/** Looks after the ServiceCIDR of the configured ranges, if its kind is served. */
function keepServiceRange(
  server: ApiServer,
  { dialect, logger, serviceRanges = defaultServiceRanges }: ServerConfig,
  { clock }: Pick<Environment, 'clock'>,
): void {
  if (!server.resources.find(dialect.group('networking'), 'v1beta1', 'servicecidrs')) return;
  const ranges = serviceRanges.clusterIps.flatMap((text) => parseIpRange(text)?.text ?? []);
  if (ranges.length === 0) return;
  const client = server.clientAs(serverUser, dialect.apiServer);
  const kept = new DefaultServiceRange({ client, dialect, clock, logger, ranges });
  server.endFirst({ name: 'the default ServiceCIDR', end: () => kept.end() });
  kept.start();
}

/** Looks after what other components read of this server. Resolves after the first attempt. */
function keepSystemConfigMaps(
  server: ApiServer,
  { authentication: { requestHeader }, dialect, features, logger }: ServerConfig,
  { clock }: Pick<Environment, 'clock'>,
): Promise<void> {
  const now = () => clock.now();
  const trust = authenticationTrust({
    dialect,
    authorities: () => server.trusted(),
    requestHeader,
    tellsUid: features.RemoteRequestHeaderUID,
    now,
  });
  const kept = [trust, legacyTokenTracking(dialect, now)];
  const client = server.clientAs(serverUser, dialect.apiServer);
  const createInitial = (object: ApiObject) => server.createInitial(object);
  const configMaps = new SystemConfigMaps({ client, createInitial, dialect, clock, logger, kept });
  server.endFirst({ name: 'the ConfigMaps of the server', end: () => configMaps.end() });
  return configMaps.start();
}

/** Publishes the connection data that the configuration has, and its later changes. */
async function publishClusterInfo(
  server: ApiServer,
  { clusterInfo, dialect, logger }: ServerConfig,
  { clock, random, listener }: Pick<Environment, 'clock' | 'random'> & { readonly listener: Listener },
): Promise<void> {
  if (!clusterInfo) return;
  const client = server.clientAs(serverUser, dialect.apiServer);
  const kubeconfig = () => clusterInfo.kubeconfig(listener);
  const createInitial = (object: ApiObject) => server.createInitial(object);
  const info = new ClusterInfo({ clock, random, logger, dialect, client, createInitial, kubeconfig });
  server.hold(info);
  server.hold(clusterInfo.follow(() => info.changed()));
  await info.publish();
}

/** The configuration of a listener. */
export type ListenerConfig = Pick<
  ServerConfig,
  | 'listen'
  | 'spread'
  | 'allowedOrigins'
  | 'strictTransportSecurity'
  | 'tls'
  | 'serving'
  | 'followServing'
  | 'requests'
  | 'logger'
>;

/** Opens a listener for a server, which closes with it. */
export async function listenFor(
  server: ApiServer,
  config: ListenerConfig,
  environment: Pick<Environment, 'clock' | 'random'>,
): Promise<Listener> {
  const certificates = new ServedCertificates(config, () => server.authorities());
  const listener = await openListener(config, server, certificates, environment);
  const followed = certificates.follow(listener);
  const authoritiesChanged = () => listener.setTls(certificates.material);
  server.attach({ listener, authoritiesChanged, close: () => followed.close() });
  return listener;
}

function openListener(
  { listen: at, spread, allowedOrigins, strictTransportSecurity, tls, requests, logger }: ListenerConfig,
  { handle }: ApiServer,
  { material }: ServedCertificates,
  { clock, random }: Pick<Environment, 'clock' | 'random'>,
): Promise<Listener> {
  return listen({
    ...at,
    ...(spread && { spread }),
    ...{ tls: material, clock, logger, handle },
    goaway: { chance: tls.goawayChance, random },
    headers: {
      ...(strictTransportSecurity !== undefined && { 'strict-transport-security': strictTransportSecurity }),
      // An answer for one origin must not be served from a cache to another (Fetch standard, section 3.2.5).
      ...(allowedOrigins && allowedOrigins.length > 0 && { vary: 'origin' }),
    },
    upgrades: mayUpgrade,
    refuse(exchange, error) {
      assignAuditId(exchange, random);
      sendStatus(exchange, error, { clock, logger });
    },
    limits: { requestMsMax: requests.timeoutMs, streamsPerConnectionMax: tls.streamsPerConnectionMax },
  });
}
