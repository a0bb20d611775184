import type { Metrics } from '../../../base/metrics.ts';

/** Reads of logs of pods, under the names of kube-apiserver. */
export interface LogMetrics {
  /** A log was asked for; whether the certificate of the agent counts. */
  readonly asked: (isVerified: boolean) => void;
  /** The certificate of an agent did not hold. */
  readonly mistrusted: () => void;
}

export function logMetrics(metrics: Metrics): LogMetrics {
  const asked = metrics.counter({
    name: 'kube_apiserver_pod_logs_insecure_backend_total',
    help: 'Reads of logs of pods, by whether the certificate of the agent counts.',
    labels: ['usage'],
  });
  const mistrusted = metrics.counter({
    name: 'kube_apiserver_pod_logs_backend_tls_failure_total',
    help: 'Reads of logs of pods that failed because the certificate of the agent does not hold.',
    labels: [],
  });
  for (const [former, of] of [
    ['kube_apiserver_pod_logs_pods_logs_insecure_backend_total', 'kube_apiserver_pod_logs_insecure_backend_total'],
    [
      'kube_apiserver_pod_logs_pods_logs_backend_tls_failure_total',
      'kube_apiserver_pod_logs_backend_tls_failure_total',
    ],
  ] as const) {
    metrics.formerName({ name: former, deprecatedIn: '1.27', of });
  }
  return {
    asked: (isVerified) => asked.add({ usage: isVerified ? 'enforce_tls' : 'skip_tls_allowed' }),
    mistrusted: () => mistrusted.add({}),
  };
}
