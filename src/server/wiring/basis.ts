import { ClosableStack } from '../../base/disposable.ts';
import type { Files } from '../../base/files.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { buildInfo } from '../serving/version-info.ts';
import { Lead } from '../upkeep/lead.ts';
import { Shutdown } from '../upkeep/shutdown.ts';
import type { ApiServerConfig } from './config.ts';
import type { Environment } from './environment.ts';
import { featureMetrics } from './features.ts';

/** What every part of a server needs. */
export interface Basis {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly dialect: Dialect;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly shutdown: Shutdown;
  readonly lead: Lead;
  /** Timers and similar resources; closed before the cache. */
  readonly held: ClosableStack;
}

export function makeBasis(config: ApiServerConfig, environment: Environment): Basis {
  const { clock, random, files } = environment;
  const { dialect, logger, shutdownDelayMs: delayMs, lead = new Lead(true) } = config;
  const shutdown = new Shutdown({ clock, logger, delayMs, drainMs: limits.drainMsMax });
  const [metrics, held] = [new Metrics(config.metrics), new ClosableStack()];
  metrics.countThemselves();
  config.shareMetrics?.(metrics);
  buildInfo(metrics, dialect);
  featureMetrics(metrics, dialect, { features: config.features, whole: config.wholeStages ?? new Set() });
  return { environment, clock, random, files, dialect, logger, metrics, shutdown, lead, held };
}
