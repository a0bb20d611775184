import type { AdmissionConfigurations } from '../../admission/admission-configurations.ts';
import { defaultPluginConfigurations } from '../../admission/plugins/plugin-configurations.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Exchange } from '../../http/exchange.ts';
import { defaultScope } from '../../meta/scope.ts';
import { AgentTrust } from '../../outbound/backend/agent-trust.ts';
import { Registry } from '../../registry/registry.ts';
import type { ResourceRequest } from '../../request/request-info.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { accessMetrics } from '../serving/access-metrics.ts';
import { Connector } from '../serving/connect/connector.ts';
import { logMetrics } from '../serving/connect/log-metrics.ts';
import { FlowControl } from '../serving/flow-control/flow-control.ts';
import { flowTable } from '../serving/flow-control/flow-tables.ts';
import { HeavyWork } from '../serving/heavy/heavy-work.ts';
import { accessLog } from '../serving/observe/access-log.ts';
import { requestPublisher } from '../serving/observe/request-channels.ts';
import { RequestMetrics, workAfterTimeout } from '../serving/observe/request-metrics.ts';
import type { RequestObserver } from '../serving/observe/request-observer.ts';
import { servePipeline, stages } from '../serving/pipeline.ts';
import { Responder } from '../serving/responder.ts';
import { upToDate } from '../serving/up-to-date.ts';
import { FlowObjects } from '../upkeep/flow-objects.ts';
import type { Access } from './access/access.ts';
import { type ApiServerConfig, defaultAgents } from './config.ts';
import { registryParts } from './registry-parts.ts';
import type { ScopeParts } from './scopes/scope-parts.ts';
import { type CurrentServiceRanges, openServiceRanges } from './service-ranges.ts';

/** The request path of a scope. */
export interface Serving {
  readonly registry: Registry;
  readonly responder: Responder;
  /** The webhooks and policies of the scope. */
  readonly configurations: AdmissionConfigurations;
  readonly services: CurrentServiceRanges;
  readonly flowObjects: FlowObjects;
  /** The pipeline. */
  readonly handle: (exchange: Exchange) => void;
}

type ServingParts = ScopeParts & Access;

export function openServing(config: ApiServerConfig, parts: ServingParts): Serving {
  const { clock, random, dialect, metrics, held, authentication, authorization, resources, serverAddress } = parts;
  const { clients, health, identities, forms, auditor, tracer } = parts;
  const { isLoopback } = clients;
  const { hasRole } = authorization;
  const flowControl = new FlowControl(parts.capacity, { name: resources.scope.name, isLoopback, hasRole });
  const flowObjects = held.add(followFlowObjects(flowControl, parts));
  const { registry, heavy, configurations, services } = openRegistry(config, parts);
  const connector = openConnector(config, parts);
  const issuerDiscovery = identities.serviceAccounts?.discovery;
  const responder = new Responder({
    ...{ config, clock, registry, resources, health, metrics, heavy, connector, forms, serverAddress, issuerDiscovery },
    // What waits is that of all scopes: those who run the process may see it.
    flowTable:
      resources.scope.name === ''
        ? (name, includeRequestDetails) => flowTable(name, parts.capacity, { includeRequestDetails })
        : undefined,
  });
  held.add(parts.cache.throttle(() => responder.watchesBusy));
  const refuse: Responder['refuse'] = (context, error) => responder.refuse(context, error);
  const observers = requestObservers(config, metrics, resources);
  const handle = servePipeline(
    stages({
      ...{ clock, random, dialect, flowControl, observers, auditor, tracer, refuse },
      resources: held,
      authenticator: authentication.authenticator,
      requestHeaders: config.authentication.requestHeader?.names,
      authorizer: authorization.authorizer,
      access: accessMetrics(metrics, dialect),
      upToDate: upToDate(parts),
      requestMsMax: config.requests.timeoutMs,
      prepare: (context) => responder.prepare(context),
      answer: (context, operation) => responder.answer(context, operation),
    }),
    { refuse, flowControl, observers, workAfterTimeout: workAfterTimeout(metrics) },
  );
  return { registry, responder, configurations, services, flowObjects, handle: parts.cors.wrap(handle) };
}

/** What connects clients to nodes and pods; its files are followed until the scope closes. */
function openConnector({ agents = defaultAgents }: ApiServerConfig, { held, ...parts }: ServingParts): Connector {
  const { clock, files, logger, metrics, environment } = parts;
  const trust = held.add(new AgentTrust({ ...agents, clock, files, logger }));
  return new Connector({
    clock,
    trust,
    logs: logMetrics(metrics),
    network: environment.network,
    agentMsMax: agents.timeoutMs,
  });
}

/** Seats are those of all scopes: levels of the default one count, and others refer to them. */
const followFlowObjects = (
  flowControl: FlowControl,
  { resources, dialect, logger, capacity }: Pick<ScopeParts, 'resources' | 'dialect' | 'logger' | 'capacity'>,
): FlowObjects =>
  new FlowObjects({
    ...{ resources, dialect, logger },
    configure: ({ levels, schemas }) => {
      if (resources.scope === defaultScope) capacity.configure(levels);
      flowControl.configure(schemas);
    },
  });

/** The registry, and heavy work on the second thread. */
function openRegistry(config: ApiServerConfig, parts: ServingParts) {
  const { thread } = parts;
  const { admissionPlugins, pluginConfigurations = defaultPluginConfigurations, runtimeConfig } = config;
  const services = openServiceRanges(config, parts);
  const serviceRanges = () => services.ranges();
  const made = registryParts(config, { ...parts, services });
  const registry = new Registry(made);
  const configured = { admissionPlugins, pluginConfigurations, runtimeConfig, serviceRanges };
  const heavy = new HeavyWork({ ...made, ...configured, registry, thread });
  return { registry, heavy, configurations: made.lookups.dynamic.configurations, services };
}

function requestObservers(
  { accessLog: requestLogger }: ApiServerConfig,
  metrics: Metrics,
  resources: ResourceRegistry,
): readonly RequestObserver[] {
  const find = ({ group, version, resource }: ResourceRequest) => resources.find(group, version, resource);
  return [new RequestMetrics(metrics, find), requestPublisher(), ...(requestLogger ? [accessLog(requestLogger)] : [])];
}
