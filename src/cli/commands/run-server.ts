import { flushCompileCache } from 'node:module';
import { systemClock } from '../../base/time/clock.ts';
import type { RunningServer, ServerConfig } from '../../server/wiring/config.ts';
import type { Environment } from '../../server/wiring/environment.ts';
import { untilStopped } from '../until-stopped.ts';
import { UsageError } from '../usage-error.ts';

/** Runs a server until a signal stops it in order. Resolves to the exit code. */
export async function runServer(
  config: ServerConfig,
  started: (server: RunningServer) => void,
  environment?: Environment,
): Promise<number> {
  const { startServer } = await import('../../server/wiring/start-server.ts');
  return untilStopped(config.logger, async (stopped) => {
    const server = await startServer(config, environment).catch((error: unknown) => {
      throw explainListenError(error, config);
    });
    started(server);
    const kept = systemClock.after(keepCompiledMs, flushCompileCache);
    await Promise.race([stopped, server.done]);
    kept.close();
    await server.stop();
    await server.done;
  });
}

/**
 * How long after its start a server keeps its compiled code for later starts, if none did: what it begins with has run then.
 * Otherwise that would wait for its orderly end, which may never come, and what was read of the kept code stay in memory.
 */
const keepCompiledMs = 3_000;

/** Explains the operating system's listen errors in terms of the flags. */
export function explainListenError(error: unknown, { listen }: Pick<ServerConfig, 'listen'>): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const at = `${listen.address} port ${listen.port}`;
  switch (code) {
    case 'EADDRINUSE':
      return new UsageError(`${at} is in use: stop the program that listens there, or choose another --secure-port`);
    case 'EACCES':
      return new UsageError(`${at}: not permitted to listen there: choose a --secure-port above 1023`);
    case 'EADDRNOTAVAIL':
      return new UsageError(`--bind-address: ${listen.address} is not an address of this machine`);
    default:
      return error;
  }
}
