import type { HistogramSeries, Metrics } from '../../base/metrics.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { StageTimes } from './observe/stage-times.ts';

/** As in kube-apiserver: `failure` is a request without any credential, `error` one whose credential does not hold. */
type AuthenticationResult = 'success' | 'failure' | 'error';
export type AuthorizationResult = 'allowed' | 'denied' | 'no-opinion' | 'error';

/** Results and durations of authentication and authorization, under the metric names of kube-apiserver. */
export interface AccessMetrics {
  readonly authenticated: (result: AuthenticationResult, seconds: number) => void;
  /** Counts the user of a request that was authenticated. */
  readonly user: (username: string) => void;
  readonly authorized: (result: AuthorizationResult, seconds: number) => void;
  readonly stages: StageTimes;
}

export function accessMetrics(metrics: Metrics, dialect: Dialect): AccessMetrics {
  const stages = new StageTimes(metrics);
  const authentication = resultTimes(metrics, {
    attempts: { name: 'authentication_attempts', help: 'Authentication attempts by result.' },
    durations: { name: 'authentication_duration_seconds', help: 'Durations of authentication, by result.' },
    results: ['success', 'failure', 'error'],
  });
  const authorization = resultTimes(metrics, {
    attempts: { name: 'authorization_attempts_total', help: 'Authorization attempts by result.' },
    durations: { name: 'authorization_duration_seconds', help: 'Durations of authorization, by result.' },
    results: ['allowed', 'denied', 'no-opinion', 'error'],
  });
  return {
    authenticated(result, seconds) {
      authentication(result, seconds);
      stages.authentication.observe(seconds);
    },
    user: authenticatedUsers(metrics, dialect),
    authorized(result, seconds) {
      authorization(result, seconds);
      stages.authorization.observe(seconds);
    },
    stages,
  };
}

/** 1 ms to 16 s. */
const accessBuckets = Array.from({ length: 15 }, (_, power) => 2 ** power / 1000);

interface ResultTimes<Result extends string> {
  readonly attempts: { readonly name: string; readonly help: string };
  readonly durations: { readonly name: string; readonly help: string };
  readonly results: readonly Result[];
}

/** Attempts and their durations. A series appears with its first attempt. */
function resultTimes<const Result extends string>(
  metrics: Metrics,
  { attempts, durations, results }: ResultTimes<Result>,
): (result: Result, seconds: number) => void {
  const labels = ['result'] as const;
  const histogram = metrics.histogram({ ...durations, labels, buckets: accessBuckets });
  const counts = Object.fromEntries(results.map((result) => [result, 0])) as Record<Result, number>;
  const series: { [Each in Result]?: HistogramSeries } = {};
  metrics.totals({ ...attempts, labels }, () =>
    results.filter((result) => counts[result] > 0).map((result) => [{ result }, counts[result]] as const),
  );
  return (result, seconds) => {
    counts[result] += 1;
    series[result] ??= histogram.of({ result });
    series[result].observe(seconds);
  };
}

/** Names that every cluster has are labels; all others are counted by what they look like. */
function authenticatedUsers(metrics: Metrics, { namespaces }: Dialect): AccessMetrics['user'] {
  const known = ['admin', 'client', `system:serviceaccount:${namespaces.system}:default`];
  const counts = new Map<string, number>([...known, 'email_id', 'other'].map((label) => [label, 0]));
  metrics.totals(
    { name: 'authenticated_user_requests', help: 'Authenticated requests, by kind of username.', labels: ['username'] },
    () => [...counts].filter(([, count]) => count > 0).map(([username, count]) => [{ username }, count] as const),
  );
  const labelOf = (username: string): string => {
    if (counts.has(username)) return username;
    return username.includes('@') ? 'email_id' : 'other';
  };
  return (username) => {
    const label = labelOf(username);
    counts.set(label, (counts.get(label) ?? 0) + 1);
  };
}
