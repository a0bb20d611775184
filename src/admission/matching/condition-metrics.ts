import type { Metrics } from '../../base/metrics.ts';
import type { ConditionsOutcome } from './judge-by-conditions.ts';

/** Counts evaluations of match conditions, under the metric names of kube-apiserver. */
export function conditionMetrics(metrics: Metrics): (outcome: ConditionsOutcome) => void {
  const labels = ['name', 'kind', 'type', 'operation'] as const;
  const seconds = metrics.histogram({
    name: 'apiserver_admission_match_condition_evaluation_seconds',
    help: 'Duration of the evaluation of match conditions in seconds.',
    labels,
    buckets: [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25],
  });
  const errors = metrics.counter({
    name: 'apiserver_admission_match_condition_evaluation_errors_total',
    help: 'Match conditions that could not be evaluated.',
    labels,
  });
  const exclusions = metrics.counter({
    name: 'apiserver_admission_match_condition_exclusions_total',
    help: 'Requests that match conditions exclude from a webhook or policy.',
    labels,
  });
  return ({ name, kind, type, operation, seconds: taken, errors: count, excluded }) => {
    const series = { name, kind, type, operation };
    seconds.observe(series, taken);
    if (count > 0) errors.add(series, count);
    // In this series alone webhooks that validate have the name of the other kinds.
    if (excluded) exclusions.add({ ...series, type: type === 'validating' ? 'validate' : type });
  };
}
