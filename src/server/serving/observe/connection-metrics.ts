import type { Metrics } from '../../../base/metrics.ts';

/** `read` returns the number of handshakes that failed so far. */
export function observeHandshakes(metrics: Metrics, read: () => number): void {
  metrics.totals(
    { name: 'apiserver_tls_handshake_errors_total', help: 'TLS handshakes of clients that failed.', labels: [] },
    () => [[{}, read()]],
  );
}
