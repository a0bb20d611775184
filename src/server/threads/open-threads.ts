import { type Closable, ClosableStack } from '../../base/disposable.ts';
import type { SharedDataFile } from '../../store/drivers/sqlite/sqlite-store.ts';
import type { ListenAddress, ServerConfig } from '../wiring/config.ts';
import { systemEnvironment } from '../wiring/environment.ts';
import { ServingThreads, type ServingThreadsOptions } from './serving-threads.ts';

interface OpenThreadsOptions extends Pick<ServingThreadsOptions, 'startThread' | 'writeLog'> {
  readonly threads: number;
}

/** The threads of a process. */
export interface OpenedThreads {
  /** Resolves when the first thread serves. Rejects with a text for the user. */
  start(): Promise<ListenAddress>;
  /** Rejects when no thread can serve any more. */
  readonly done: Promise<void>;
  /** Drains all threads, and closes what they share. */
  stop(): Promise<void>;
}

/** Opens what the threads of a process share: the data file, the audit log, and the files that the server keeps. */
export async function openThreads(
  config: ServerConfig,
  { startThread, writeLog, threads: wanted }: OpenThreadsOptions,
): Promise<OpenedThreads> {
  const { logger, listen, audit, storage } = config;
  const { clock, random, openLog } = systemEnvironment;
  const held = new ClosableStack();
  const file = storage.backend === 'sqlite' ? await openFile(config, storage) : undefined;
  const threads = new ServingThreads({
    ...{ clock, random, openLog, logger, startThread, writeLog, port: listen.port },
    threads: seatsFor(wanted, config),
    ...(file && { connectStore: () => file.connect() }),
    async listening(at) {
      await config.beforeReady?.(at);
      held.add(keepCertificates(config));
    },
  });
  // Whether it can be written is known before the server is ready.
  if (audit?.log) threads.openLog(audit.log.output);
  return {
    start: () => threads.start(),
    done: threads.done,
    async stop() {
      held.close();
      await threads.stop();
      await file?.close();
    },
  };
}

async function openFile(
  { logger, encryption }: ServerConfig,
  storage: ServerConfig['storage'] & { readonly backend: 'sqlite' },
): Promise<SharedDataFile> {
  const { shareSqliteStore } = await import('../../store/drivers/sqlite/sqlite-store.ts');
  return shareSqliteStore({ ...storage, ...(encryption && { erase: true }), logger, clock: systemEnvironment.clock });
}

/** The serving certificate is renewed here; the other threads read it. */
const keepCertificates = ({ followServing }: ServerConfig): Closable => followServing?.(() => {}) ?? { close() {} };

/** Each thread has at least one seat of each kind. */
function seatsFor(threads: number, { requests: { inFlightMax } }: ServerConfig): number {
  const limited = [inFlightMax.reads, inFlightMax.writes].filter((max) => max > 0);
  return Math.min(threads, ...limited);
}
