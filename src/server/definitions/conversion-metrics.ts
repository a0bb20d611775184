import type { Metrics } from '../../base/metrics.ts';
import type { ConversionOutcome } from '../../resources/conversion-webhook.ts';

/** Counts questions to conversion webhooks under the published names. */
export function conversionMetrics(metrics: Metrics): (outcome: ConversionOutcome) => void {
  const labels = ['result', 'failure_type'] as const;
  const requests = metrics.counter({
    name: 'apiserver_conversion_webhook_request_total',
    help: 'Requests to conversion webhooks by result, and by what failed.',
    labels,
  });
  const seconds = metrics.histogram({
    name: 'apiserver_conversion_webhook_duration_seconds',
    help: 'Duration of requests to conversion webhooks in seconds.',
    labels,
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60],
  });
  const byDefinition = metrics.histogram({
    name: 'apiserver_crd_conversion_webhook_duration_seconds',
    help: 'Duration of conversions of custom resources by webhooks in seconds.',
    labels: ['crd_name', 'from_version', 'to_version', 'succeeded'],
    buckets: Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power),
  });
  return ({ definition, fromVersion, toVersion, seconds: taken, failure }) => {
    const result = failure ? 'failure' : 'success';
    const failureType = failure ? `conversion_webhook_${failure}_failure` : '';
    requests.add({ result, failure_type: failureType });
    seconds.observe({ result, failure_type: failureType }, taken);
    byDefinition.observe(
      {
        ...{ crd_name: definition, from_version: fromVersion, to_version: toVersion },
        succeeded: String(failure === undefined),
      },
      taken,
    );
  };
}
