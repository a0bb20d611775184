import { Metrics } from '../../base/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';

/** Results of health checks, for `/metrics/slis`. Names are the published ones, with the dialect's prefix. */
export interface HealthMetrics {
  readonly metrics: Metrics;
  /** `name` is the check's, `type` the endpoint's. */
  readonly observe: (name: string, type: string, passed: boolean) => void;
}

export function healthMetrics({ name: prefix }: Pick<Dialect, 'name'>, clock: Pick<Clock, 'now'>): HealthMetrics {
  const metrics = new Metrics();
  const last = metrics.latest(
    {
      name: `${prefix}_healthcheck`,
      stability: 'STABLE',
      help: 'The last result of a health check: 1 if it passed.',
      labels: ['name', 'type'],
    },
    clock,
  );
  const all = metrics.counter({
    name: `${prefix}_healthchecks_total`,
    stability: 'STABLE',
    help: 'Results of health checks.',
    labels: ['name', 'type', 'status'],
  });
  return {
    metrics,
    observe(name, type, passed) {
      last.set({ name, type }, passed ? 1 : 0);
      all.add({ name, type, status: passed ? 'success' : 'error' });
    },
  };
}
