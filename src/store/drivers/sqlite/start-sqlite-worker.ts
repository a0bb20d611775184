import { Worker } from 'node:worker_threads';

/** The worker's entry file is beside this module in the sources, and beside the bundle that contains this module. */
export const startSqliteWorker = (): Worker => {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  // Flags that only apply to the process's own entry point, such as --input-type, would prevent the worker from
  // starting.
  return new Worker(new URL(`./sqlite-worker.${extension}`, import.meta.url), { name: 'sqlite', execArgv: [] });
};
