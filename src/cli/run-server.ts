import type { RunningServer, ServerConfig } from '../server/config.ts';
import { UsageError } from './usage-error.ts';

/**
 * Starts a server and keeps it until a signal ends it. SIGTERM and SIGINT stop it in order; a second signal ends the
 * process where it stands, which costs nothing that was acknowledged. Resolves to the exit code.
 */
export async function runServer(config: ServerConfig, started: (server: RunningServer) => void): Promise<number> {
  const { startServer } = await import('../server/compose.ts');
  const { logger } = config;
  const stopAsked = Promise.withResolvers<void>();
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    signals += 1;
    if (signals > 1) process.exit(1);
    logger.info('stopping', { signal });
    stopAsked.resolve();
  };
  const onUncaught = (error: unknown): void => {
    logger.error('the process ends: an error that nobody handled', { error });
    process.exit(1);
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('uncaughtException', onUncaught);
  try {
    const server = await startServer(config).catch((error: unknown) => {
      throw explainListenError(error, config);
    });
    started(server);
    await Promise.race([stopAsked.promise, server.done]);
    await server.stop();
    await server.done;
    logger.info('stopped');
    return 0;
  } finally {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal).off('uncaughtException', onUncaught);
  }
}

/** The operating system's refusals to listen, in the words of the flags that caused them. */
export function explainListenError(error: unknown, { listen }: Pick<ServerConfig, 'listen'>): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const at = `${listen.address} port ${listen.port}`;
  switch (code) {
    case 'EADDRINUSE':
      return new UsageError(`${at} is in use: stop who listens there, or choose another --secure-port`);
    case 'EACCES':
      return new UsageError(`${at}: not permitted to listen there: choose a --secure-port above 1023`);
    case 'EADDRNOTAVAIL':
      return new UsageError(`--bind-address: ${listen.address} is not an address of this machine`);
    default:
      return error;
  }
}
