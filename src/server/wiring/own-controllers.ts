import type { Closable } from '../../base/disposable.ts';
import { defaultTiming } from '../../client/leader-election.ts';
import type { ControllerMetrics } from '../../controllers/controller-metrics.ts';
import { type ControllerName, type ControllersContext, startControllers } from '../../controllers/controllers.ts';
import { runAsLeader } from '../../controllers/run-controllers.ts';
import { multiCidrGate } from '../../kinds/networking/ip-address.ts';
import { defaultScope } from '../../meta/scope.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { managerUser, systemAccount } from '../upkeep/bootstrap.ts';
import type { Access } from './access/access.ts';
import type { Basis } from './basis.ts';
import type { ApiServerConfig } from './config.ts';
import type { LoopbackClients } from './loopback-clients.ts';
import { usesServiceCidrs } from './service-ranges.ts';

interface OwnControllersOptions extends ControllersContext {
  readonly run: readonly ControllerName[];
  /** Other servers may run controllers on the same store: only the lease holder works. */
  readonly shared: boolean;
  readonly hostname: string;
}

interface OwnControllersParts
  extends Pick<Basis, 'clock' | 'random' | 'logger' | 'dialect' | 'environment'>,
    Pick<Access, 'authentication'> {
  readonly clients: LoopbackClients;
  readonly controllerMetrics: ControllerMetrics;
  readonly resources: ResourceRegistry;
}

/**
 * Starts the configured controllers, each as a loopback client of this server. Client certificates count in all scopes,
 * so that only those of the default scope sign them: an administrator of another must not make users of this one.
 */
export function startOwnControllers(
  config: Pick<ApiServerConfig, 'controllers' | 'storage' | 'features' | 'dialect'>,
  parts: OwnControllersParts,
): Closable {
  const { controllers, storage } = config;
  const { clock, random, logger, dialect, clients, authentication, resources, environment } = parts;
  const { controllerManager: name } = dialect;
  const issuer = authentication.serviceAccounts?.issuer;
  const { certificateSigning, ...chosen } = controllers;
  return runOwnControllers({
    ...{ clock, random, logger, dialect, metrics: parts.controllerMetrics },
    ...chosen,
    features: new Set(usesServiceCidrs(config, resources) ? [multiCidrGate] : []),
    ...(certificateSigning && resources.scope === defaultScope && { certificateSigning }),
    onGroupsChanged: (listener) =>
      resources.onChange(({ added, removed }) =>
        listener(new Set([...added, ...removed].map(({ kind }) => kind.group))),
      ),
    shared: storage.backend === 'etcd3',
    hostname: environment.hostname,
    client: clients.clientAs(managerUser(dialect), name),
    clientOf: (account) => clients.clientAs(systemAccount(dialect, account), name),
    ...(issuer && { signSecretToken: issuer.issueLegacy }),
  });
}

/** Runs the controllers of this process until closed. */
function runOwnControllers({ run, shared, hostname, ...context }: OwnControllersOptions): Closable {
  if (run.length === 0) return { close() {} };
  if (!shared) return startControllers(run, context);
  const stop = new AbortController();
  void leadAgain(run, context, hostname, stop.signal);
  return { close: () => stop.abort(new Error('the server stops')) };
}

/** Uses the lease of the controller manager, which may also run as a separate program. */
async function leadAgain(
  run: readonly ControllerName[],
  context: ControllersContext,
  hostname: string,
  signal: AbortSignal,
): Promise<void> {
  const { random, logger, dialect } = context;
  const { namespaces, controllerManager: name } = dialect;
  while (!signal.aborted) {
    try {
      const candidature = { random, hostname, timing: defaultTiming, namespace: namespaces.system, name };
      await runAsLeader(run, context, candidature, signal);
    } catch (error) {
      if (!signal.aborted) logger.warn('the controllers have stopped and will be restarted', { error });
    }
  }
}
