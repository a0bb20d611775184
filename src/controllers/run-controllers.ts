import type { Random } from '../base/random.ts';
import { ApiEventRecorder } from '../client/event-recorder.ts';
import { type ElectionTiming, leadOnce } from '../client/leader-election.ts';
import { type ControllerName, type ControllersContext, startControllers } from './controllers.ts';
import type { Leadership } from './leadership.ts';

interface LeaderElectionOptions {
  readonly random: Random;
  /** Host name of this machine. */
  readonly hostname: string;
  readonly timing: ElectionTiming;
  /** Namespace and name of the lease. */
  readonly namespace: string;
  readonly name: string;
  /** Told of the leadership, for health checks. */
  readonly leadership?: Leadership;
}

/** Runs controllers until the signal is aborted. */
export async function runControllers(
  names: readonly ControllerName[],
  context: ControllersContext,
  signal: AbortSignal,
): Promise<void> {
  const running = startControllers(names, context);
  context.logger.info('controllers run', { controllers: names });
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  running.close();
}

/**
 * Waits for the lease, and runs controllers while it is held. Resolves when the lease is lost or the signal is
 * aborted; call it again to rejoin the election.
 */
export async function runAsLeader(
  names: readonly ControllerName[],
  context: ControllersContext,
  { random, hostname, timing, namespace, name, leadership }: LeaderElectionOptions,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, logger, dialect, metrics, clientOf } = context;
  const apiVersion = `${dialect.group('coordination')}/v1`;
  const component = dialect.controllerManager;
  const events = new ApiEventRecorder({ client, clock, random, logger, component });
  const identity = `${hostname}_${random.uuid()}`;
  metrics?.leads(name, false);
  const leads = (isLeading: boolean): void => {
    metrics?.leads(name, isLeading);
    leadership?.note(isLeading, timing);
  };
  try {
    await leadOnce(
      { client, clock, logger, timing, signal, events, leads, apiVersion, namespace, name, identity },
      async (term, requireLease) => {
        const guarded = {
          ...context,
          client: client.guarded(requireLease),
          ...(clientOf && { clientOf: (account: string) => clientOf(account).guarded(requireLease) }),
        };
        await runControllers(names, guarded, term);
      },
    );
  } finally {
    await events.flush(timing.retryMs);
    events.close();
  }
}
