import { hostname } from 'node:os';
import type { Closable } from '../base/disposable.ts';
import type { Random } from '../base/random.ts';
import { defaultTiming, leadOnce } from '../client/leader-election.ts';
import { type ControllerName, type ControllersContext, startControllers } from '../controllers/controllers.ts';

export interface OwnControllersOptions extends ControllersContext {
  readonly run: readonly ControllerName[];
  /** Others may run controllers on the same store: those that hold the lease work. */
  readonly shared: boolean;
  readonly random: Random;
}

/** The controllers of this process, until they are closed. */
export function runOwnControllers({ run, shared, random, ...context }: OwnControllersOptions): Closable {
  if (run.length === 0) return { close() {} };
  if (!shared) return startControllers(run, context);
  const stop = new AbortController();
  void leadAgain(run, { ...context, random, signal: stop.signal });
  return { close: () => stop.abort(new Error('the server stops')) };
}

interface Candidature extends ControllersContext {
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** By the lease of the controller manager, which may be a program of its own as well. */
async function leadAgain(run: readonly ControllerName[], { random, signal, ...context }: Candidature): Promise<void> {
  const { client, clock, logger, dialect } = context;
  const apiVersion = `${dialect.group('coordination')}/v1`;
  const identity = `${hostname()}_${random.uuid()}`;
  while (!signal.aborted) {
    try {
      await leadOnce(
        {
          ...{ client, clock, logger, signal, apiVersion, identity },
          timing: defaultTiming,
          leases: `/apis/${apiVersion}/namespaces/${dialect.namespaces.system}/leases`,
          name: dialect.controllerManager,
        },
        (term) => workUntil(term, () => startControllers(run, context)),
      );
    } catch (error) {
      if (!signal.aborted) logger.warn('the controllers have stopped and are started anew', { error });
    }
  }
}

async function workUntil(term: AbortSignal, start: () => Closable): Promise<void> {
  const running = start();
  await new Promise<void>((resolve) => {
    if (term.aborted) resolve();
    else term.addEventListener('abort', () => resolve(), { once: true });
  });
  running.close();
}
