import type { Metrics } from '../../base/metrics.ts';

/** Metrics of webhook calls. `code` is the HTTP status, or `<error>` if there was no response. */
export interface WebhookMetrics {
  asked(code: string, seconds: number): void;
}

/** Uses kube-apiserver's metric names for delegated authentication. */
export function webhookTokenMetrics(metrics: Metrics): WebhookMetrics {
  const requests = metrics.counter({
    name: 'apiserver_delegated_authn_request_total',
    help: 'Requests to the token authentication webhook, by HTTP status code.',
    labels: ['code'],
  });
  const durations = metrics.histogram({
    name: 'apiserver_delegated_authn_request_duration_seconds',
    help: 'Latency of requests to the token authentication webhook, by HTTP status code.',
    labels: ['code'],
    buckets: [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10],
  });
  return {
    asked(code, seconds) {
      requests.add({ code });
      durations.observe({ code }, seconds);
    },
  };
}
