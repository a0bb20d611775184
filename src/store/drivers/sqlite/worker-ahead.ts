import type { Worker } from 'node:worker_threads';
import type { Closable } from '../../../base/disposable.ts';
import { startSqliteWorker } from './start-sqlite-worker.ts';

/** The thread of a data file that is to be opened soon. Closing ends one that no store has taken. */
export interface WorkerAhead extends Closable {
  /** For `SqliteStoreOptions`; to be called once. The store then ends the thread. */
  readonly startWorker: () => Worker;
}

/** Starts a thread before its store is opened: it takes as long as code takes to be loaded, on another processor. */
export function startWorkerAhead(start: () => Worker = startSqliteWorker): WorkerAhead {
  const worker = start();
  let state: 'waiting' | 'ended' | 'taken' = 'waiting';
  const ended = (): void => {
    if (state === 'waiting') state = 'ended';
  };
  worker.on('error', ended);
  worker.on('exit', ended);
  return {
    startWorker() {
      // Of a thread that has ended nobody would hear any more; another one says why.
      if (state === 'ended') return start();
      state = 'taken';
      return worker;
    },
    close() {
      if (state === 'waiting') void worker.terminate();
    },
  };
}
