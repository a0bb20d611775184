import type { Metrics } from '../../base/metrics.ts';
import { hashedLabel, type ReloadReports, reloadReports } from '../../base/reload-reports.ts';
import type { Clock } from '../../base/time/clock.ts';

/** Metrics of providers and their tokens, under kube-apiserver's names. */
export interface OidcMetrics {
  /** Duration of verifying a token that was not cached. */
  verified(issuer: string, result: 'success' | 'failure', seconds: number): void;
  /** Results of reloading the configuration file. */
  readonly reloaded: ReloadReports;
}

interface OidcMetricsOptions {
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Identifies this server; exported only as a hash; '' for none. */
  readonly serverId: string;
}

/** Created once per server. */
export function oidcMetrics({ metrics, clock, serverId }: OidcMetricsOptions): OidcMetrics {
  const latency = metrics.histogram({
    name: 'apiserver_authentication_jwt_authenticator_latency_seconds',
    help: 'Latency of verifying JWTs of configured issuers, excluding cache hits.',
    labels: ['result', 'jwt_issuer_hash'],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  return {
    verified(issuer, result, seconds) {
      latency.observe({ result, jwt_issuer_hash: hashedLabel(issuer) }, seconds);
    },
    reloaded: reloadReports({ of: 'authentication', metrics, clock, serverId }),
  };
}
