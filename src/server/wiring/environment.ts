import { hostname } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../../base/clock.ts';
import { type Files, systemFiles } from '../../base/files.ts';
import type { Logger } from '../../base/logger.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import { type Network, systemNetwork } from '../../outbound/network.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import { startHeavyWorker } from '../serving/heavy/job-thread.ts';
import type { EventLoopDelays } from '../serving/observe/event-loop-delay.ts';
import type { StorageConfig } from './storage-config.ts';

/**
 * What a server takes from the world around it. With a manual clock, a seeded random and a store of its own a whole server
 * runs in a test, and does the same each time.
 */
export interface Environment {
  readonly clock: Clock;
  readonly random: Random;
  /** Files that the configuration names: connection files, and what is looked at again while the server runs. */
  readonly files: Files;
  /** HTTPS to others: webhooks, providers of tokens. */
  readonly network: Network;
  /** How this machine is called: in metrics, and by who competes for a lease. */
  readonly hostname: string;
  /** Environment variables: where a pod's API server is, and what credential plugins are given. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Rejects with a StoreError where the store cannot be opened. The server closes it. */
  readonly openStore: (storage: StorageConfig, parts: StoreParts) => Promise<Store>;
  /** Starts the thread for heavy work, which is ended with the server. */
  readonly startHeavyWorker: () => Worker;
  /** Begins to measure the event loop; absent: it is not measured. `resolutionMs` is the time between two looks. */
  readonly measureEventLoop?: (resolutionMs: number) => EventLoopDelays;
}

/** What of it others are reached by. */
export type OutsideWorld = Pick<Environment, 'files' | 'network' | 'hostname' | 'variables'>;

interface StoreParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The machine that the process runs on. */
export const systemEnvironment: Environment = {
  clock: systemClock,
  random: systemRandom,
  files: systemFiles,
  network: systemNetwork,
  hostname: hostname(),
  variables: process.env,
  openStore(storage, { clock, random, logger }) {
    switch (storage.backend) {
      case 'memory':
        return openStore(storage);
      case 'sqlite':
        return openStore({ ...storage, clock, logger });
      case 'etcd3':
        return openStore({ ...storage, clock, random, logger });
    }
  },
  startHeavyWorker,
  measureEventLoop(resolution) {
    const delays = monitorEventLoopDelay({ resolution });
    delays.enable();
    return delays;
  },
};
