import type { Clock } from '../../base/clock.ts';
import type { Metrics } from '../../base/metrics.ts';
import { hashedLabel, type ReloadReports, reloadReports } from '../../base/reload-reports.ts';

/** What is counted about providers and their tokens, under the names that published servers have for it. */
export interface OidcMetrics {
  /** How long it took to verify a token that was in no cache. */
  verified(issuer: string, result: 'success' | 'failure', seconds: number): void;
  /** The configuration file has changed, and what came of it. */
  readonly reloaded: ReloadReports;
}

interface OidcMetricsOptions {
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Tells this server from others; only its hash is shown; '' for none. */
  readonly serverId: string;
}

/** Made once for a server. */
export function oidcMetrics({ metrics, clock, serverId }: OidcMetricsOptions): OidcMetrics {
  const latency = metrics.histogram({
    name: 'apiserver_authentication_jwt_authenticator_latency_seconds',
    help: 'How long tokens of configured issuers took to verify, those found in a cache left out.',
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
