import { isMainThread, type Worker } from 'node:worker_threads';

/**
 * Loaded by a server under test before its own code: with each SIGUSR2 it ends one of the threads that serve, in turn. From outside
 * of a process no thread can be ended alone.
 */
function endOnSignal(): void {
  const serving = new Set<Worker>();
  let count = 0;
  process.on('worker', (worker) => {
    worker.on('message', (message: { readonly type?: string; readonly listening?: unknown }) => {
      if (message.type === 'ready' && message.listening) serving.add(worker);
    });
    worker.on('exit', () => serving.delete(worker));
  });
  process.on('SIGUSR2', () => {
    const chosen = [...serving][count++ % serving.size];
    void chosen?.terminate();
  });
}

if (isMainThread) endOnSignal();
