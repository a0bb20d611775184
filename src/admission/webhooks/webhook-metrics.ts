import type { Metrics } from '../../base/metrics.ts';
import type { WebhookOutcome } from './webhook-outcome.ts';

/** Counts calls of webhooks, under the metric names of kube-apiserver. */
export function webhookMetrics(metrics: Metrics): (outcome: WebhookOutcome) => void {
  const requests = metrics.counter({
    name: 'apiserver_admission_webhook_request_total',
    help: 'Calls of admission webhooks.',
    labels: ['name', 'type', 'operation', 'code', 'rejected'],
  });
  const seconds = metrics.histogram({
    name: 'apiserver_admission_webhook_admission_duration_seconds',
    stability: 'STABLE',
    help: 'Duration of calls of admission webhooks in seconds.',
    labels: ['name', 'type', 'operation', 'rejected'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25],
  });
  const rejections = metrics.counter({
    name: 'apiserver_admission_webhook_rejection_count',
    help: 'Requests that admission webhooks refused, or that were refused because one could not be called.',
    labels: ['name', 'type', 'operation', 'error_type', 'rejection_code'],
  });
  const failedOpen = metrics.counter({
    name: 'apiserver_admission_webhook_fail_open_count',
    help: 'Failed calls of admission webhooks that let a request pass.',
    labels: ['name', 'type'],
  });
  return ({ webhook: name, type, operation, seconds: taken, end, code: sent, aborted }) => {
    const code = String(Math.min(sent, highestCode));
    const rejected = String(end !== 'allowed' && end !== 'ignored');
    requests.add({ name, type, operation, code, rejected });
    seconds.observe({ name, type, operation, rejected }, taken);
    const error = errorTypes[end];
    if (error && !aborted) rejections.add({ name, type, operation, error_type: error, rejection_code: code });
    if (end === 'ignored' && !aborted) failedOpen.add({ name, type });
  };
}

/** Higher ones count as this one. */
const highestCode = 600;

const errorTypes: Readonly<Partial<Record<WebhookOutcome['end'], string>>> = {
  refused: 'no_error',
  failed: 'calling_webhook_error',
  broken: 'apiserver_internal_error',
};
