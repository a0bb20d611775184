import type { Logger } from '../../base/logger.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { noSuchPath } from '../../meta/status-error.ts';
import { type HealthMetrics, healthMetrics } from './health-metrics.ts';

/** One check of a health endpoint. */
export interface HealthCheck {
  readonly name: string;
  /** Name of a check with which it is excluded, too. */
  readonly within?: string;
  /** The problem, or undefined if healthy. The text is logged, not sent to the client. */
  readonly run: () => string | undefined | Promise<string | undefined>;
}

interface HealthAnswer {
  readonly status: 200 | 500;
  readonly body: string;
}

type Endpoint = 'healthz' | 'livez' | 'readyz';
type Checks = Readonly<Partial<Record<Endpoint, readonly HealthCheck[]>>>;

interface HealthChecksOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly checks: () => Checks;
  readonly dialect: Pick<Dialect, 'name'>;
}

/** Answers health endpoints (spec section 4.2): plain text; probes look only at the status. */
export class HealthChecks {
  readonly #logger: Logger;
  readonly #checks: () => Checks;
  readonly #results: HealthMetrics;

  /** `checks` may change; an endpoint without checks does not exist. */
  constructor({ clock, logger, checks, dialect }: HealthChecksOptions) {
    this.#logger = logger;
    this.#checks = checks;
    this.#results = healthMetrics(dialect, clock);
  }

  /** Results of the checks of whole endpoints. */
  get metrics(): Metrics {
    return this.#results.metrics;
  }

  /** Every health path: the endpoints and their checks. */
  get paths(): readonly string[] {
    return Object.entries(this.#checks()).flatMap(([endpoint, checks]) => [
      `/${endpoint}`,
      ...checks.map(({ name }) => `/${endpoint}/${name}`),
    ]);
  }

  /** Answers an endpoint such as `/livez`, or one check as `/livez/<check>`; undefined for other paths. */
  async answer(path: string, query: URLSearchParams): Promise<HealthAnswer | undefined> {
    const match = /^\/(healthz|livez|readyz)(?:\/(.+?))?\/?$/.exec(path);
    if (!match) return undefined;
    const endpoint = match[1] as Endpoint;
    const checks = this.#checks()[endpoint];
    if (!checks) return undefined;
    const name = match[2];
    if (name === undefined) return this.#all(endpoint, checks, query);
    const check = checks.find((each) => each.name === name);
    if (!check) throw noSuchPath();
    return this.#one(endpoint, check);
  }

  /**
   * `verbose` lists every check, `exclude` (repeatable) skips checks; a failure always lists all. The last line says
   * `healthz` on every endpoint, as specified.
   */
  async #all(endpoint: Endpoint, checks: readonly HealthCheck[], query: URLSearchParams): Promise<HealthAnswer> {
    const excluded = new Set(query.getAll('exclude'));
    const unknown = new Set(excluded);
    const lines: string[] = [];
    let healthy = true;
    for (const check of checks) {
      const { name, within = name } = check;
      unknown.delete(name);
      const skipped = excluded.has(name) || excluded.has(within);
      const passed = skipped || (await this.#passes(endpoint, check));
      if (!skipped) this.#results.observe(name, endpoint, passed);
      healthy &&= passed;
      lines.push(
        `${passed ? '[+]' : '[-]'}${name} ${skipped ? 'excluded: ok' : passed ? 'ok' : 'failed: reason withheld'}`,
      );
    }
    for (const name of unknown) lines.push(`warn: there is no check ${JSON.stringify(name)} to exclude`);
    if (!healthy) return { status: 500, body: `${lines.join('\n')}\nhealthz check failed\n` };
    return { status: 200, body: query.has('verbose') ? `${lines.join('\n')}\nhealthz check passed\n` : 'ok' };
  }

  async #one(endpoint: Endpoint, check: HealthCheck): Promise<HealthAnswer> {
    if (await this.#passes(endpoint, check)) return { status: 200, body: 'ok' };
    return { status: 500, body: 'failed: reason withheld\n' };
  }

  /** Logs the reason of a failure and withholds it from the client, who may be anonymous. */
  async #passes(endpoint: Endpoint, check: HealthCheck): Promise<boolean> {
    const why = await check.run();
    if (why !== undefined) this.#logger.info('a health check fails', { endpoint, check: check.name, why });
    return why === undefined;
  }
}
