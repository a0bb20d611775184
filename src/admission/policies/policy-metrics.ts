import type { Metrics } from '../../base/metrics.ts';
import type { PolicyOutcome } from './policy-outcome.ts';

/** Counts what policies do, under the metric names of kube-apiserver. */
export function policyMetrics(metrics: Metrics): (outcome: PolicyOutcome) => void {
  const labels = ['policy', 'policy_binding', 'error_type', 'enforcement_action'] as const;
  const checks = metrics.counter({
    name: 'apiserver_validating_admission_policy_check_total',
    stability: 'BETA',
    help: 'Validations of admission policies that spoke against a request, or could not be evaluated.',
    labels,
  });
  const seconds = metrics.histogram({
    name: 'apiserver_validating_admission_policy_check_duration_seconds',
    stability: 'BETA',
    help: 'Duration of these validations in seconds.',
    labels,
    buckets: [0.000_000_5, 0.001, 0.01, 0.1, 1],
  });
  return ({ policy, binding, error, action, seconds: taken }) => {
    const series = { policy, policy_binding: binding, error_type: error, enforcement_action: action };
    checks.add(series);
    seconds.observe(series, taken);
  };
}
