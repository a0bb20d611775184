import type { Logger } from '../base/logger.ts';
import { keepAlive } from '../base/time/clock.ts';

/**
 * Runs a program until it ends or a signal stops it. SIGTERM and SIGINT resolve `stopped` and abort `signal`; a second
 * signal exits the process at once, which loses nothing that was acknowledged. Resolves to the exit code.
 */
export async function untilStopped(
  logger: Logger,
  run: (stopped: Promise<void>, signal: AbortSignal) => Promise<void>,
): Promise<number> {
  const stopAsked = Promise.withResolvers<void>();
  const controller = new AbortController();
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    signals += 1;
    if (signals > 1) process.exit(1);
    logger.info('stopping', { signal });
    stopAsked.resolve();
    controller.abort(new Error('a signal asked to stop'));
  };
  const onUncaught = (error: unknown): void => {
    logger.error('the process ends: an error that nobody handled', { error });
    process.exit(1);
  };
  // The program may wait for nothing but a timer, for example for a server that is not up yet.
  const alive = keepAlive();
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('uncaughtException', onUncaught);
  try {
    await run(stopAsked.promise, controller.signal);
    logger.info('stopped');
    return 0;
  } finally {
    alive.close();
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal).off('uncaughtException', onUncaught);
  }
}
