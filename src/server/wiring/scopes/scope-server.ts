import { type Closable, ClosableStack } from '../../../base/disposable.ts';
import type { ApiClient } from '../../../client/api-client.ts';
import { ApiEventRecorder } from '../../../client/event-recorder.ts';
import type { Exchange } from '../../../http/exchange.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { ResourceName } from '../../../meta/status-error.ts';
import type { Transport } from '../../../outbound/transport.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import type { ServedResource } from '../../../resources/resource.ts';
import type { ResourceRegistry } from '../../../resources/resource-registry.ts';
import { conversionMetrics } from '../../definitions/conversion-metrics.ts';
import { DefinedKinds } from '../../definitions/defined-kinds.ts';
import { documentMetrics } from '../../definitions/document-metrics.ts';
import { removalBy } from '../../definitions/remove-objects.ts';
import { UnservedDefinitions } from '../../definitions/unserved-definitions.ts';
import { heavyConversion } from '../../serving/heavy/heavy-conversion.ts';
import { AddressRepair } from '../../upkeep/address-repair.ts';
import { type CreateInitial, createNamespaces, serverUser } from '../../upkeep/bootstrap.ts';
import { ClaimRepair } from '../../upkeep/claim-repair.ts';
import { ensureDefaultPolicy, keepObjects, retryDefaultPolicy } from '../../upkeep/default-policy.ts';
import { expireObjects } from '../../upkeep/object-expiry.ts';
import { type Access, openAccess } from '../access/access.ts';
import type { ApiServerConfig } from '../config.ts';
import { LoopbackClients } from '../loopback-clients.ts';
import { startOwnControllers } from '../own-controllers.ts';
import { usesServiceCidrs } from '../service-ranges.ts';
import { openServing, type Serving } from '../serving.ts';
import type { ScopeParts } from './scope-parts.ts';
import type { SharedParts } from './shared-parts.ts';

/** One control plane: serves the requests of a scope. */
export interface ScopeServer extends Closable {
  /** Serves a request in this scope, whatever its origin. */
  readonly handle: (exchange: Exchange) => void;
  /** The served resources; may change at run time. */
  readonly resources: ResourceRegistry;
  /** An in-process transport with this identity: through the whole pipeline, without a connection. */
  transportAs(user: UserInfo): Transport;
  /** The same as a typed client; `name` is its user agent. */
  clientAs(user: UserInfo, name: string): ApiClient;
  /** Creates the initial objects (namespaces, default roles). Resolves when they are effective. */
  prepare(): Promise<void>;
  /** Creates another initial object without a request. False if it is there, or if requests have to be seen. */
  createInitial(object: ApiObject): Promise<boolean>;
  startControllers(): void;
  endWatches(): void;
}

/** Opens a scope over its table of resources, which closes with it. Closes what was opened on failure. */
export async function openScopeServer(
  config: ApiServerConfig,
  shared: SharedParts,
  resources: ResourceRegistry,
): Promise<ScopeServer> {
  const held = new ClosableStack();
  const close = (): void => {
    held.close();
    shared.tables.close(resources);
  };
  try {
    const metrics = held.add(shared.metrics.part());
    const clients = new LoopbackClients((exchange) => serving.handle(exchange), shared.dialect.apiServer, shared.clock);
    const unserved = new UnservedDefinitions();
    const parts: ScopeParts = { ...shared, held, metrics, resources, clients, unserved };
    held.add(shared.lead.begin(() => expireObjects({ ...parts, timesToLiveMs: config.timesToLiveMs })));
    const access = await openAccess(config, parts);
    const serving = openServing(config, { ...parts, ...access });
    return scopeServer(config, { ...parts, ...access, ...serving }, close);
  } catch (error) {
    close();
    throw error;
  }
}

function scopeServer(config: ApiServerConfig, parts: ScopeParts & Access & Serving, close: () => void): ScopeServer {
  const { handle, resources, clients, responder, authorization, cache, lead, held } = parts;
  const controllers = new ClosableStack();
  const conversions = {
    ...{ ...parts, network: parts.environment.network, observed: conversionMetrics(parts.metrics) },
    heavy: heavyConversion(parts),
  };
  const removeObjects = removalBy(parts.registry);
  const allDefined = resources.awaitKinds();
  const definedKinds = parts.held.add(
    new DefinedKinds({
      ...{ ...parts, client: clients.server, conversions, removeObjects },
      changed: documentMetrics(parts.metrics),
    }),
  );
  const endWatches = (): void => {
    controllers.close();
    responder.endWatches();
  };
  return {
    ...{ handle, resources, endWatches },
    transportAs: (user) => clients.transportAs(user),
    clientAs: (user, name) => clients.clientAs(user, name),
    async prepare() {
      await definedKinds.start();
      allDefined();
      // Those of a server that takes the lead later are there; one that was refused is tried again.
      if (lead.leads) await makeInitialObjects(config, parts);
      else held.add(lead.begin(() => ensureLater(config, parts)));
      await cache.fresh();
      await authorization.caughtUp();
    },
    async createInitial(object) {
      const served = servedOf(resources, object);
      return served !== undefined && initialCreation(parts)(served, object);
    },
    startControllers() {
      controllers.add(lead.begin(() => startOwnControllers(config, parts)));
      controllers.add(lead.begin(() => startClaimRepair(config, parts)));
      controllers.add(lead.begin(() => parts.flowObjects.writeConditions(clients.server, parts.clock)));
    },
    close() {
      endWatches();
      close();
    },
  };
}

/** Compares what objects hold with what they say, as long as it is not closed. */
function startClaimRepair(config: ApiServerConfig, parts: ScopeParts & Serving): Closable {
  const held = new ClosableStack();
  const component = 'claim-repair-controller';
  const events = held.add(new ApiEventRecorder({ ...parts, client: parts.clients.server, component }));
  const repair = held.add(new ClaimRepair({ ...parts, events, pools: () => parts.services.pools() }));
  repair.start();
  if (usesServiceCidrs(config, parts.resources)) held.add(startAddressRepair(parts));
  return held;
}

/** The same for the IPAddresses by which clients see addresses of services. */
function startAddressRepair(parts: ScopeParts & Serving): Closable {
  const held = new ClosableStack();
  const client = parts.clients.server;
  const events = held.add(new ApiEventRecorder({ ...parts, client, component: 'ipallocator-repair-controller' }));
  const repair = held.add(new AddressRepair({ ...parts, client, events, pools: () => parts.services.pools() }));
  repair.start();
  return held;
}

/** Creates parts of the program without requests, as long as none have to be seen. */
const initialCreation =
  ({ auditor, configurations, dialect, registry }: ScopeParts & Serving): CreateInitial =>
  async (served, object) =>
    auditor === undefined &&
    configurations.isEmpty &&
    registry.createInitial({ served, object, user: serverUser, manager: dialect.apiServer });

function ensureLater(config: ApiServerConfig, parts: ScopeParts & Serving): Closable {
  makeInitialObjects(config, parts).catch((error: unknown) =>
    parts.logger.warn('objects that exist after every start could not be looked after', { error }),
  );
  return { close() {} };
}

/** Ensures the objects that exist after every start: namespaces, the default policy, and those of other kinds. */
async function makeInitialObjects(
  config: Pick<ApiServerConfig, 'joinPolicy' | 'controllers' | 'features' | 'dialect'>,
  parts: ScopeParts & Serving,
): Promise<void> {
  const { joinPolicy, controllers } = config;
  const { dialect, clock, held, logger, clients, cache, resources, registry, configurations } = parts;
  const createInitial = initialCreation(parts);
  await createNamespaces({ registry, dialect, createInitial }, storedNamespaces(resources));
  const policyParts = {
    ...{ dialect, logger, joinPolicy },
    simulatesNodes: controllers.run.includes('simulated-nodes'),
    usesServiceCidrs: usesServiceCidrs(config, resources),
    serves: ({ group, resource }: ResourceName) =>
      [...resources.table.ofGroup(group)].some(({ name }) => name.resource === resource),
    client: clients.server,
    createInitial,
    fresh: () => cache.fresh(),
    servedAs: (object: ApiObject) => servedOf(resources, object),
    initialObjects: [...resources.stored()].flatMap(({ kind }) => kind.initialObjects ?? []),
    isJudged: () => !configurations.isEmpty,
  };
  const refused = await ensureDefaultPolicy(policyParts);
  if (refused.length > 0) held.add(retryDefaultPolicy(policyParts, refused, clock));
  const kept = [...resources.stored()].flatMap(({ kind: { initialObjects = [], keptObjects = [] } }) =>
    initialObjects.filter(({ metadata: { name = '' } }) => keptObjects.includes(name)),
  );
  held.add(keepObjects(policyParts, kept, clock));
}

/** The resource that clients are served for objects of this kind, if any. */
function servedOf({ table }: ResourceRegistry, { apiVersion, kind }: ApiObject): ServedResource | undefined {
  const group = apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/')));
  for (const served of table.ofGroup(group)) {
    if (served.apiVersion === apiVersion && served.kind.kind === kind) return served;
  }
  return undefined;
}

/** Namespaces, the one resource that every server needs, whether clients are served it or not. */
function storedNamespaces(resources: ResourceRegistry): ServedResource {
  const served = resources.finder('', 'v1', 'namespaces')();
  if (!served) throw new Error('namespaces are not stored');
  return served;
}
