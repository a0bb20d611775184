import { DocumentForms } from '../../../content/document-forms.ts';
import { ControllerMetrics } from '../../../controllers/controller-metrics.ts';
import type { Auditor } from '../../serving/audit/auditor.ts';
import { SharedCapacity } from '../../serving/flow-control/shared-capacity.ts';
import { JobThread } from '../../serving/heavy/job-thread.ts';
import { observeEventLoop } from '../../serving/observe/event-loop-lag.ts';
import { observeCollections, observeProcess } from '../../serving/observe/process-metrics.ts';
import type { RequestTracer } from '../../serving/tracing/request-tracer.ts';
import { cacheHealth } from '../../upkeep/cache-health.ts';
import { Health, type HealthOptions } from '../../upkeep/health.ts';
import { storeHealth, storeProbe } from '../../upkeep/store-health.ts';
import { type Cors, openCors } from '../access/cors.ts';
import { type IdentitySources, openIdentitySources } from '../access/identity-sources.ts';
import { openAudit } from '../audit.ts';
import type { Basis } from '../basis.ts';
import type { ApiServerConfig } from '../config.ts';
import type { Storage } from '../storage.ts';
import { openTracing } from '../tracing.ts';

/** What all scopes of a process share. */
export interface SharedParts extends Basis, Storage {
  readonly identities: IdentitySources;
  readonly cors: Cors;
  readonly capacity: SharedCapacity;
  /** Undefined if requests are not audited. */
  readonly auditor: Auditor | undefined;
  /** Undefined if requests are not traced. */
  readonly tracer: RequestTracer | undefined;
  /** The thread for heavy work. */
  readonly thread: JobThread;
  readonly health: Health;
  readonly controllerMetrics: ControllerMetrics;
  /** Encoded discovery and OpenAPI documents, under one memory budget. */
  readonly forms: DocumentForms;
  /** `host:port` of this server. */
  readonly serverAddress: () => string;
}

interface SharedPartsOptions extends Basis, Storage {
  readonly serverAddress: () => string;
  /** Called when the authorities of clients have changed. */
  readonly authoritiesChanged: () => void;
}

/** Opens the shared parts, which close with the server. */
export async function openSharedParts(config: ApiServerConfig, parts: SharedPartsOptions): Promise<SharedParts> {
  const { clock, random, logger, dialect, metrics, held, shutdown, environment, serverAddress } = parts;
  const tracer = await openTracing(config, parts);
  // Closed after all that follows, so that nothing is lost that requests still do.
  const auditor = openAudit(config.audit, parts);
  const { inFlightMax: max, timeoutMs: requestMsMax } = config.requests;
  const capacity = held.add(new SharedCapacity({ clock, dialect, metrics, max, requestMsMax }));
  const thread = new JobThread({ clock, logger, startWorker: environment.startHeavyWorker });
  shutdown.add('the thread for heavy work', () => thread.close());
  const { measureEventLoop, measureProcess, watchCollections } = environment;
  if (measureEventLoop) held.add(observeEventLoop(metrics, measureEventLoop));
  if (measureProcess) observeProcess(metrics, measureProcess);
  if (watchCollections) held.add(observeCollections(metrics, watchCollections));
  return {
    ...{ ...parts, capacity, thread, auditor, tracer },
    cors: await openCors(config, random),
    identities: await openIdentitySources({
      ...parts,
      config: config.authentication,
      externalAddress: serverAddress,
    }),
    health: openHealth(config, parts, capacity),
    controllerMetrics: new ControllerMetrics(metrics, dialect.controllerManager),
    forms: new DocumentForms(),
  };
}

/** The checks of one store. */
type StoreHealth = Required<Pick<HealthOptions, 'cacheProblem' | 'storeProblem' | 'storeUnready'>>;

function openHealth(
  { livezGraceMs, storeChecks, shareMetrics }: ApiServerConfig,
  { clock, logger, dialect, shutdown, stores, encryptionProblem }: Basis & Storage,
  capacity: SharedCapacity,
): Health {
  const [main, ...overrides] = stores.map(({ store, cache }) => {
    const probe = storeProbe(store, clock);
    return {
      cacheProblem: cacheHealth({ cache, probe, clock }),
      storeProblem: storeHealth(probe, storeChecks?.healthMs),
      storeUnready: storeHealth(probe, storeChecks?.readyMs),
    };
  }) as [StoreHealth, ...StoreHealth[]];
  const health = new Health({
    ...{ clock, logger, dialect, livezGraceMs },
    stopping: () => shutdown.stopping,
    ...{ ...main, overrides },
    async cacheProblem() {
      const problems = await Promise.all([main, ...overrides].map((each) => each.cacheProblem()));
      return problems.find((problem) => problem !== undefined);
    },
    writeProblem: () => capacity.writeProblem(),
    ...(encryptionProblem && { encryptionProblem }),
  });
  shareMetrics?.(health.metrics);
  return health;
}
