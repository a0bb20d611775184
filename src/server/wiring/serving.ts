import type { Metrics } from '../../base/metrics.ts';
import type { Exchange } from '../../http/exchange.ts';
import { Registry } from '../../registry/registry.ts';
import type { ResourceRequest } from '../../request/request-info.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { accessCounts } from '../serving/access-counts.ts';
import { FlowControl } from '../serving/flow-control/flow-control.ts';
import { HeavyWork } from '../serving/heavy/heavy-work.ts';
import { JobThread } from '../serving/heavy/job-thread.ts';
import { accessLog } from '../serving/observe/access-log.ts';
import { observeEventLoopDelay } from '../serving/observe/event-loop-delay.ts';
import { RequestMetrics } from '../serving/observe/request-metrics.ts';
import type { RequestObserver } from '../serving/observe/request-observer.ts';
import { tracing } from '../serving/observe/tracing.ts';
import { servePipeline, stages } from '../serving/pipeline.ts';
import { Responder } from '../serving/responder.ts';
import { Health } from '../upkeep/health.ts';
import { storeHealth } from '../upkeep/store-health.ts';
import type { Access, AccessParts } from './access.ts';
import type { ApiServerConfig } from './config.ts';
import { registryParts } from './registry-parts.ts';

/** What answers requests. */
export interface Serving {
  readonly registry: Registry;
  readonly health: Health;
  readonly responder: Responder;
  /** The pipeline. */
  readonly handle: (exchange: Exchange) => void;
}

type ServingParts = AccessParts & Access;

export function openServing(config: ApiServerConfig, parts: ServingParts): Serving {
  const { clock, random, dialect, metrics, held, authentication, authorization, resources, serverAddress } = parts;
  const flowControl = openFlowControl(config, parts);
  const health = openHealth(config, parts, flowControl);
  const { registry, heavy } = openRegistry(config, parts);
  const issuerDiscovery = authentication.serviceAccounts?.discovery;
  const responder = new Responder({
    ...{ config, clock, registry, resources, health, metrics, heavy, serverAddress, issuerDiscovery },
  });
  const refuse: Responder['refuse'] = (context, error) => responder.refuse(context, error);
  const observers = requestObservers(config, metrics, resources);
  const { measureEventLoop } = parts.environment;
  if (measureEventLoop) held.add(observeEventLoopDelay(metrics, measureEventLoop));
  const handle = servePipeline(
    stages({
      ...{ clock, random, dialect, flowControl, observers, refuse },
      resources: held,
      authenticator: authentication.authenticator,
      requestHeaders: config.authentication.requestHeader?.names,
      authorizer: authorization.authorizer,
      counts: accessCounts(metrics),
      requestMsMax: config.requests.timeoutMs,
      prepare: (context) => responder.prepare(context),
      answer: (context, operation) => responder.answer(context, operation),
    }),
    { refuse, flowControl, observers },
  );
  return { registry, health, responder, handle: parts.browsers.answering(handle) };
}

function openFlowControl({ requests }: ApiServerConfig, parts: ServingParts): FlowControl {
  const { clock, dialect, metrics, held, clients, authorization } = parts;
  return held.add(
    new FlowControl({
      ...{ clock, dialect, metrics },
      max: requests.inFlightMax,
      requestMsMax: requests.timeoutMs,
      isOwn: clients.isOwn,
      hasRole: authorization.hasRole,
    }),
  );
}

function openHealth(
  { livezGraceMs }: ApiServerConfig,
  { clock, logger, shutdown, cache, store }: ServingParts,
  flowControl: FlowControl,
): Health {
  return new Health({
    ...{ clock, logger, livezGraceMs },
    stopping: () => shutdown.stopping,
    cacheInStep: () => cache.revision > 0,
    storeTrouble: storeHealth(store, clock),
    writeTrouble: () => flowControl.writeTrouble(),
  });
}

/** The verbs, and the second thread for those that are much work. */
function openRegistry(config: ApiServerConfig, parts: ServingParts) {
  const { clock, logger, shutdown } = parts;
  const { admissionPlugins } = config;
  const made = registryParts(config, parts);
  const registry = new Registry(made);
  const thread = new JobThread({ clock, logger });
  shutdown.add('the thread for heavy work', () => thread.close());
  return { registry, heavy: new HeavyWork({ ...made, admissionPlugins, registry, thread }) };
}

function requestObservers(
  { accessLog: logs, logger }: ApiServerConfig,
  metrics: Metrics,
  resources: ResourceRegistry,
): readonly RequestObserver[] {
  const find = ({ group, version, resource }: ResourceRequest) => resources.find(group, version, resource);
  return [new RequestMetrics(metrics, find), tracing(), ...(logs ? [accessLog(logger)] : [])];
}
