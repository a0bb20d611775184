import { hostname } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { type Files, systemFiles } from '../../base/files.ts';
import type { LogOutput } from '../../base/log-output.ts';
import type { Logger } from '../../base/logger.ts';
import type { Count } from '../../base/metrics.ts';
import {
  monitorEventLoop,
  type ProcessUsage,
  readProcessUsage,
  type WatchCollections,
  watchCollections,
} from '../../base/process-usage.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import { openRotatedFile, type RotatedFileOptions } from '../../base/rotated-file.ts';
import { StandardOutput } from '../../base/standard-output.ts';
import { type Clock, systemClock } from '../../base/time/clock.ts';
import { systemNetwork } from '../../outbound/network/system-network.ts';
import type { Network } from '../../outbound/network.ts';
import type { TracerParts } from '../../outbound/tracing/open-telemetry.ts';
import type { Tracer } from '../../outbound/tracing/tracer.ts';
import type { CollectorEndpoint } from '../../outbound/tracing/tracing-configuration.ts';
import type { KmsConnection, KmsEndpoint } from '../../store/encryption/kms/kms-connection.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import { startHeavyWorker } from '../serving/heavy/job-thread.ts';
import type { EventLoopDelays } from '../serving/observe/event-loop-lag.ts';
import type { StorageConfig } from './storage-config.ts';

/**
 * The server's access to the outside world. With a manual clock, seeded random numbers and an in-memory store, a whole
 * server runs in a test, deterministically.
 */
export interface Environment {
  readonly clock: Clock;
  readonly random: Random;
  /** Files named by the configuration: connection files, and files watched for changes. */
  readonly files: Files;
  /** Outgoing HTTPS: webhooks, OIDC providers. */
  readonly network: Network;
  /** Name of this machine: used in metrics and as the identity of lease holders. */
  readonly hostname: string;
  /** Environment variables: in-cluster API server address, and the environment of credential plugins. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Opens a log that the server writes. Throws if it cannot be written. */
  readonly openLog: (config: LogConfig, logger: Logger) => LogOutput;
  /** Rejects with a StoreError if the store cannot be opened. The server closes it. */
  readonly openStore: (storage: StorageConfig, parts: StoreParts) => Promise<Store>;
  /** Connects to a KMS plugin, by a socket of this machine. The server closes it. */
  readonly connectKms: (endpoint: KmsEndpoint) => Promise<KmsConnection>;
  /** Opens what sends traces to a collector. The server closes it. */
  readonly openTracer: (endpoint: CollectorEndpoint, parts: TracerParts) => Promise<Tracer>;
  /** Starts the worker for heavy work, which stops with the server. */
  readonly startHeavyWorker: () => Worker;
  /** Starts the event loop monitor; if absent, nothing is measured. `resolutionMs` is the sampling interval. */
  readonly measureEventLoop?: (resolutionMs: number) => EventLoopDelays;
  /** What the process takes of the machine; if absent, it is not shown. */
  readonly measureProcess?: () => Promise<ProcessUsage>;
  /** Reports garbage collections; if absent, they are not shown. */
  readonly watchCollections?: WatchCollections;
}

/** Where a log goes. */
export type LogConfig = { readonly type: 'standardOutput' } | ({ readonly type: 'file' } & RotatedFileOptions);

/** The part of the environment that outgoing connections use. */
export type OutsideWorld = Pick<Environment, 'files' | 'network' | 'hostname' | 'variables'>;

interface StoreParts {
  /** Counts keys of others among those of the server; only etcd can have them. */
  readonly passedOver?: Count | undefined;
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
  openLog(config, logger) {
    if (config.type === 'standardOutput') return new StandardOutput(systemClock);
    const onProblem = (error: unknown) => logger.warn('renamed log files could not be kept as configured', { error });
    return openRotatedFile(config, { clock: systemClock, onProblem });
  },
  variables: process.env,
  openStore(storage, { clock, random, logger, passedOver }) {
    switch (storage.backend) {
      case 'memory':
        return openStore(storage);
      case 'sqlite':
        return openStore({ ...storage, clock, logger });
      case 'etcd3':
        return openStore({ ...storage, clock, random, logger, passedOver });
    }
  },
  async connectKms(endpoint) {
    const { connectKms } = await import('../../store/encryption/kms/kms-client.ts');
    return connectKms(endpoint, systemClock);
  },
  async openTracer(endpoint, parts) {
    const { openTelemetry } = await import('../../outbound/tracing/open-telemetry.ts');
    return openTelemetry(endpoint, parts);
  },
  startHeavyWorker,
  measureEventLoop: monitorEventLoop,
  measureProcess: readProcessUsage,
  watchCollections,
};
