import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Clock, systemClock } from '../../base/clock.ts';
import { type Files, systemFiles } from '../../base/files.ts';
import type { Logger } from '../../base/logger.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import type { EventLoopDelays } from '../serving/observe/event-loop-delay.ts';
import type { StorageConfig } from './storage-config.ts';

/**
 * What a server takes from the world around it. With a manual clock, a seeded random and a store of its own a whole server
 * runs in a test, and does the same each time.
 */
export interface Environment {
  readonly clock: Clock;
  readonly random: Random;
  /** Files of the configuration that are looked at again while the server runs. */
  readonly files: Files;
  /** Rejects with a StoreError where the store cannot be opened. The server closes it. */
  readonly openStore: (storage: StorageConfig, parts: StoreParts) => Promise<Store>;
  /** Begins to measure the event loop; absent: it is not measured. `resolutionMs` is the time between two looks. */
  readonly measureEventLoop?: (resolutionMs: number) => EventLoopDelays;
}

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
  measureEventLoop(resolution) {
    const delays = monitorEventLoopDelay({ resolution });
    delays.enable();
    return delays;
  },
};
