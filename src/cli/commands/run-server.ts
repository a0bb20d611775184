import { createServer } from 'node:net';
import { systemClock } from '../../base/time/clock.ts';
import type { ThreadSeat } from '../../server/threads/thread-seat.ts';
import type { ListenAddress, ServerConfig } from '../../server/wiring/config.ts';
import type { Environment } from '../../server/wiring/environment.ts';
import { keepCompiledCode } from '../compiled-code.ts';
import { failureText } from '../failure.ts';
import { untilStopped } from '../until-stopped.ts';
import { UsageError } from '../usage-error.ts';
import type { StartThread, Terminal } from './command.ts';

interface RunOptions {
  /** Called once with the address. */
  readonly started: (at: ListenAddress) => void;
  /** What the server's threads run in. Default: the server has one thread. */
  readonly terminal?: Terminal;
  /** Default: 1. */
  readonly threads?: number;
  readonly environment?: Environment;
}

/** Runs a server until a signal stops it in order. Resolves to the exit code. */
export async function runServer(config: ServerConfig, options: RunOptions): Promise<number> {
  const { started, terminal, threads = 1, environment } = options;
  if (terminal?.threads?.type === 'serving') return serveOnThread(config, terminal.threads.seat);
  if (terminal?.threads?.type === 'main' && threads > 1) {
    return runThreads(config, { started, start: terminal.threads.start, threads, terminal });
  }
  const { startServer } = await import('../../server/wiring/start-server.ts');
  return untilStopped(config.logger, async (stopped) => {
    const server = await startServer(config, environment).catch((error: unknown) => {
      throw explainListenError(error, config);
    });
    started(server);
    const kept = systemClock.after(keepCompiledMs, () => void keepCompiledCode());
    await Promise.race([stopped, server.done]);
    kept.close();
    await server.stop();
    await server.done;
    await keepCompiledCode();
  });
}

/**
 * How long after its start a server keeps its compiled code for later starts, if none did: what it begins with has run then.
 * Otherwise that would wait for its orderly end, which may never come, and what was read of the kept code stay in memory. A server
 * that ends earlier keeps it then.
 */
const keepCompiledMs = 3_000;

/** One of several servers, on its own thread. Resolves to the exit code of the thread. */
async function serveOnThread(given: ServerConfig, seat: ThreadSeat): Promise<number> {
  const { startServer } = await import('../../server/wiring/start-server.ts');
  const config = seat.configure(given);
  try {
    const server = await startServer(config, seat.environment());
    seat.ready(server);
    const kept = systemClock.after(keepCompiledMs, () => void keepCompiledCode());
    await Promise.race([seat.stopped, server.done]);
    kept.close();
    await server.stop();
    await server.done;
    await keepCompiledCode();
    return 0;
  } catch (error) {
    const explained = explainListenError(error, config);
    seat.failed(explained instanceof Error ? failureText(explained) : String(explained));
    return 1;
  }
}

interface RunThreadsOptions extends Pick<RunOptions, 'started'> {
  readonly start: StartThread;
  readonly threads: number;
  readonly terminal: Terminal;
}

/** The main thread: keeps what a process has once, and the threads that serve. */
async function runThreads(
  config: ServerConfig,
  { started, start, threads, terminal }: RunThreadsOptions,
): Promise<number> {
  const { openThreads } = await import('../../server/threads/open-threads.ts');
  await checkPort(config);
  return untilStopped(config.logger, async (stopped) => {
    const serving = await openThreads(config, {
      ...{ threads, startThread: start },
      writeLog: (text) => void terminal.err(text),
    });
    try {
      const at = await Promise.race([serving.start(), stopped]);
      if (at) started(at);
      await Promise.race([stopped, serving.done]);
    } finally {
      await serving.stop();
    }
  });
}

/**
 * Other processes may listen on a port that threads share: without this look, two servers would each serve a part of
 * the clients.
 */
async function checkPort(config: ServerConfig): Promise<void> {
  const { address: host, port } = config.listen;
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', (error) => reject(explainListenError(error, config)));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}

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
