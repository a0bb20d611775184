import type { Metrics } from '../../base/metrics.ts';

/** Counts of authentication and authorization results. Plain numbers, since every request increments them. */
export interface AccessCounts {
  readonly authentication: Record<'success' | 'failure' | 'error', number>;
  readonly authorization: Record<'allowed' | 'denied' | 'no-opinion' | 'error', number>;
}

/** Counts exported under the metric names of kube-apiserver. */
export function accessCounts(metrics: Metrics): AccessCounts {
  return {
    authentication: counted(metrics, {
      name: 'authentication_attempts',
      help: 'Authentication attempts by result.',
      results: ['success', 'failure', 'error'],
    }),
    authorization: counted(metrics, {
      name: 'authorization_attempts_total',
      help: 'Authorization attempts by result.',
      results: ['allowed', 'denied', 'no-opinion', 'error'],
    }),
  };
}

interface Series<Result extends string> {
  readonly name: string;
  readonly help: string;
  readonly results: readonly Result[];
}

function counted<const Result extends string>(
  metrics: Metrics,
  { name, help, results }: Series<Result>,
): Record<Result, number> {
  const counts = Object.fromEntries(results.map((result) => [result, 0])) as Record<Result, number>;
  metrics.totals({ name, help, labels: ['result'] }, () =>
    results.filter((result) => counts[result] > 0).map((result) => [{ result }, counts[result]] as const),
  );
  return counts;
}
