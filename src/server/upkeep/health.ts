import type { Logger } from '../../base/logger.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { type HealthCheck, HealthChecks } from './health-checks.ts';

export interface HealthOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dialect: Pick<Dialect, 'name' | 'storeHealthCheck'>;
  /** Grace period in which `/livez` stays healthy although the start has not finished. Milliseconds. */
  readonly livezGraceMs: number;
  /** True once a stop was requested. */
  readonly stopping: () => boolean;
  /** Why the cache cannot be used; undefined if it is loaded and follows the store. */
  readonly cacheProblem: () => string | undefined | Promise<string | undefined>;
  /** Why the store cannot be used; undefined if it can. */
  readonly storeProblem: () => string | undefined | Promise<string | undefined>;
  /** The same for `/readyz`, which may wait for another time. Default: `storeProblem`. */
  readonly storeUnready?: () => string | undefined | Promise<string | undefined>;
  /** The same two of the other stores (`--etcd-servers-overrides`). Default: there are none. */
  readonly overrides?: readonly Required<Pick<HealthOptions, 'storeProblem' | 'storeUnready'>>[];
  /** Why writes are stalled; undefined if they are not. */
  readonly writeProblem: () => string | undefined;
  /** Why KMS plugins cannot be used; undefined if they can. Default: there is no check of them. */
  readonly encryptionProblem?: () => Promise<string | undefined>;
}

/** The health endpoints of an API server. */
export class Health {
  readonly #options: HealthOptions;
  readonly #startedAtMs: number;
  readonly #checks: HealthChecks;
  #started = false;

  constructor(options: HealthOptions) {
    const { encryptionProblem, overrides = [] } = options;
    this.#options = options;
    this.#startedAtMs = options.clock.monotonic();
    const ping: HealthCheck = { name: 'ping', run: () => undefined };
    const cache: HealthCheck = { name: 'cache-sync', run: () => options.cacheProblem() };
    const name = options.dialect.storeHealthCheck;
    const store: HealthCheck = { name, run: () => options.storeProblem() };
    const ready: HealthCheck = { name, run: () => (options.storeUnready ?? options.storeProblem)() };
    // As kube-apiserver has them from 1.33 on.
    const others = (problem: 'storeProblem' | 'storeUnready'): readonly HealthCheck[] =>
      overrides.map((each, index) => ({ name: `${name}-override-${index}`, within: name, run: each[problem] }));
    const hooks = 'poststarthook/start-server';
    const start: HealthCheck = { name: hooks, run: () => (this.#started ? undefined : 'the start has not finished') };
    const alive: HealthCheck = {
      name: hooks,
      run: () => (this.#startIsLate() ? 'the start takes too long' : undefined),
    };
    const shutdown: HealthCheck = {
      name: 'shutdown',
      run: () => (options.stopping() ? 'the server is shutting down' : undefined),
    };
    const writes: HealthCheck = { name: 'writes', run: () => options.writeProblem() };
    const plugins = encryptionProblem ? [{ name: 'kms-providers', run: encryptionProblem }] : [];
    const checks = {
      healthz: [ping, store, ...others('storeProblem'), cache, start, ...plugins],
      livez: [ping, alive],
      readyz: [ping, ready, ...others('storeUnready'), cache, start, ...plugins, writes, shutdown],
    };
    this.#checks = new HealthChecks({ ...options, checks: () => checks });
  }

  /** Marks the start as finished. */
  started(): void {
    this.#started = true;
  }

  #startIsLate(): boolean {
    const { clock, livezGraceMs } = this.#options;
    return !this.#started && clock.monotonic() - this.#startedAtMs > livezGraceMs;
  }

  /** Results of the checks, for `/metrics/slis`. */
  get metrics(): Metrics {
    return this.#checks.metrics;
  }

  get paths(): readonly string[] {
    return this.#checks.paths;
  }

  /** See HealthOptions: of each store, the main one first. */
  get storeProblems(): readonly HealthOptions['storeProblem'][] {
    const { storeProblem, overrides = [] } = this.#options;
    return [storeProblem, ...overrides.map((each) => each.storeProblem)];
  }

  /** As `HealthChecks.answer`. */
  answer(path: string, query: URLSearchParams): ReturnType<HealthChecks['answer']> {
    return this.#checks.answer(path, query);
  }
}
