import type { FinalAuthenticator } from '../../authn/anonymous.ts';
import { type Authorizer, requirePermission } from '../../authz/authorizer.ts';
import { type Closable, ClosableStack } from '../../base/disposable.ts';
import type { Metrics } from '../../base/metrics.ts';
import { monitorEventLoop, readProcessUsage, watchCollections } from '../../base/process-usage.ts';
import type { Random } from '../../base/random.ts';
import { sendStatus } from '../../content/status.ts';
import type { Exchange } from '../../http/exchange.ts';
import { type Listener, listen } from '../../http/listener.ts';
import { PathRouter } from '../../http/router.ts';
import { observeEventLoop } from '../serving/observe/event-loop-lag.ts';
import { observeCollections, observeProcess } from '../serving/observe/process-metrics.ts';
import { routeHealth, sendMetrics } from '../serving/status-pages.ts';
import { buildInfo } from '../serving/version-info.ts';
import type { HealthChecks } from '../upkeep/health-checks.ts';
import { ServedCertificates } from '../wiring/access/served-certificates.ts';
import type { WebhookParts } from '../wiring/access/webhooks.ts';
import type { ServerConfig } from '../wiring/config.ts';
import { type DelegatedAccessConfig, openDelegatedAccess } from './delegated-access.ts';

export interface StatusEndpointConfig extends Pick<ServerConfig, 'listen' | 'tls' | 'serving' | 'followServing'> {
  readonly access: DelegatedAccessConfig;
}

interface StatusEndpointParts extends WebhookParts {
  readonly random: Random;
  readonly metrics: Metrics;
  readonly health: HealthChecks;
}

/** A port with health and metrics of a program that is no API server. */
export interface StatusEndpoint extends Closable {
  readonly address: string;
  readonly port: number;
}

/** Rejects if the port cannot be opened. */
export async function openStatusEndpoint(
  config: StatusEndpointConfig,
  parts: StatusEndpointParts,
): Promise<StatusEndpoint> {
  const { clock, logger, random, metrics, dialect } = parts;
  const held = new ClosableStack();
  buildInfo(metrics, dialect);
  observeProcess(metrics, readProcessUsage);
  held.add(observeEventLoop(metrics, monitorEventLoop));
  held.add(observeCollections(metrics, watchCollections));
  let listener: Listener | undefined;
  try {
    const access = openDelegatedAccess(config.access, {
      ...{ ...parts, held },
      authoritiesChanged: () => listener?.setTls(certificates.material),
    });
    const certificates = new ServedCertificates(config, access.authorities);
    const refuse = (exchange: Exchange, error: unknown): void => sendStatus(exchange, error, { clock, logger });
    const serve = serving(access, statusRoutes(parts));
    listener = await listen({
      ...config.listen,
      ...{ tls: certificates.material, clock, logger, refuse },
      handle: (exchange) => void serve(exchange).catch((error: unknown) => refuse(exchange, error)),
      goaway: { chance: config.tls.goawayChance, random },
      limits: { streamsPerConnectionMax: config.tls.streamsPerConnectionMax },
    });
    held.add(listener);
    held.add(certificates.follow(listener));
    const { address, port } = listener;
    return { address, port, close: () => held.close() };
  } catch (error) {
    held.close();
    throw error;
  }
}

function statusRoutes(parts: StatusEndpointParts): PathRouter {
  const router = new PathRouter().exact('/metrics', ['GET'], (exchange) => sendMetrics(exchange, parts));
  routeHealth(router, parts);
  return router;
}

interface Access {
  readonly authenticator: FinalAuthenticator;
  readonly authorizer: Authorizer;
}

/** As in an API server: who asks, whether they may, and only then whether there is such a path. */
const serving =
  ({ authenticator, authorizer }: Access, router: PathRouter) =>
  async (exchange: Exchange): Promise<void> => {
    const { method, target } = exchange;
    const path = target.split('?', 1)[0] ?? '';
    const user = await authenticator.authenticate(exchange);
    const attributes = { type: 'path', verb: method.toLowerCase(), path } as const;
    await requirePermission(authorizer, attributes, user, exchange);
    await router.find(method, path)(exchange, path);
  };
