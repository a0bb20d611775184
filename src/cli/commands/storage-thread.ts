import type { StorageConfig } from '../../server/wiring/storage-config.ts';
import { startWorkerAhead, type WorkerAhead } from '../../store/drivers/sqlite/worker-ahead.ts';

/** Arguments with which a server opens no data file, or may open none. */
const others = /^(-h|--help|--version|--storage-backend|--etcd-servers)(=|$)/;

/**
 * Starts the thread of the data file of a server with these arguments, on another processor while code is loaded here.
 * Undefined where there may be no data file; the store then starts what it needs.
 */
export const startStorageThread = (args: readonly string[]): WorkerAhead | undefined =>
  args.some((arg) => others.test(arg)) ? undefined : startWorkerAhead();

/** The storage with the thread that was started for it. */
export function onThread(storage: StorageConfig, thread: WorkerAhead | undefined): StorageConfig {
  if (!thread) return storage;
  if (storage.backend === 'sqlite') return { ...storage, startWorker: thread.startWorker };
  thread.close();
  return storage;
}
