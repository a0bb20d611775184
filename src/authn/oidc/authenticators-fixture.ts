import assert from 'node:assert/strict';
import { silentLogger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import { noJitter } from '../../base/time/backoff-fixture.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { systemNetwork } from '../../outbound/network/system-network.ts';
import type { JwtAuthenticator } from './jwt-authenticator.ts';
import { OidcAuthenticators } from './oidc-authenticators.ts';
import { oidcMetrics } from './oidc-metrics.ts';

/** Test support: an authenticator on a stopped clock. Certificates and tokens use the real time. */
export function authenticators(...settings: readonly JwtAuthenticator[]) {
  const clock = new ManualClock(Date.now());
  const metrics = new Metrics();
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (_: string, fields?: object) => warnings.push(JSON.stringify(fields)) };
  const context = {
    clock,
    network: systemNetwork,
    random: noJitter,
    logger,
    metrics: oidcMetrics({ metrics, clock, serverId: 'me' }),
  };
  const all = new OidcAuthenticators(settings, context);
  return {
    clock,
    metrics,
    warnings,
    all,
    ready: () => until(() => all.problems().length === 0),
    who: async (token: string) => (await all.authenticateToken(token))?.user.username,
    refused: (token: string, code: string) =>
      assert.rejects(
        async () => all.authenticateToken(token),
        (error: Error & { code?: string }) => {
          assert.equal(error.code, code, error.message);
          assert.ok(!error.message.includes(token.split('.')[1] ?? '-'));
          return true;
        },
      ),
    [Symbol.dispose]() {
      all.close();
      assert.equal(clock.pending, 0);
    },
  };
}
