import type { Metrics } from '../base/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import type { RegistryParts } from './verb.ts';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Times the expressions of custom resources, under the metric names of kube-apiserver: compilation once for each version of a
 * definition that is checked, evaluation once for each object.
 */
export function ruleTimes(metrics: Metrics, clock: Pick<Clock, 'monotonic'>): NonNullable<RegistryParts['timeRules']> {
  const define = (work: string) =>
    metrics
      .histogram({
        name: `apiserver_cel_${work}_duration_seconds`,
        stability: 'BETA',
        help: `Time of the ${work} of expressions of custom resources.`,
        labels: [],
        buckets,
      })
      .of({});
  const series = { compilation: define('compilation'), evaluation: define('evaluation') };
  return (work) => {
    const since = clock.monotonic();
    return () => series[work].observe((clock.monotonic() - since) / 1000);
  };
}
