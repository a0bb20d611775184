import { type FinalAuthenticator, withAnonymous } from '../../authn/anonymous.ts';
import { bearerAuthenticator } from '../../authn/bearer.ts';
import { certificateLifetimes, clientCertificateAuthenticator } from '../../authn/client-certificate.ts';
import { withFailureLog } from '../../authn/failure-log.ts';
import { cachedTokens, tokenCacheCounts } from '../../authn/token-cache.ts';
import { unionAuthenticator } from '../../authn/union.ts';
import { webhookTokenMetrics } from '../../authn/webhook/webhook-metrics.ts';
import { webhookTokenAuthenticator } from '../../authn/webhook/webhook-token.ts';
import { authorizationMetrics } from '../../authz/authorization-metrics.ts';
import type { Authorizer, Decision } from '../../authz/authorizer.ts';
import { masters } from '../../authz/masters.ts';
import { unionAuthorizer } from '../../authz/union.ts';
import { reviewPath } from '../../authz/webhook/review.ts';
import { WebhookAuthorizer } from '../../authz/webhook/webhook-authorizer.ts';
import type { ClosableStack } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import { openPool } from '../wiring/access/identity-sources.ts';
import { openWebhook, type WebhookParts } from '../wiring/access/webhooks.ts';
import type { AuthoritiesConfig } from '../wiring/config.ts';
import type { AllowedPaths } from './allowed-paths.ts';

/** How a program beside the API server decides who may see its pages, as the flags of published programs say. */
export interface DelegatedAccessConfig {
  /** Issuers of client certificates. */
  readonly clientAuthorities: AuthoritiesConfig | undefined;
  /** Connection file of the API server that reviews tokens; absent: bearer tokens are refused. */
  readonly tokenReviews: { readonly file: string; readonly cacheMs: number } | undefined;
  /** Connection file of the API server that reviews access; absent: only masters have any. */
  readonly accessReviews:
    | { readonly file: string; readonly authorizedMs: number; readonly unauthorizedMs: number }
    | undefined;
  readonly alwaysAllowed: AllowedPaths;
}

interface AccessParts extends WebhookParts {
  readonly random: Random;
  readonly metrics: Metrics;
  /** Everything opened is added to it. */
  readonly held: ClosableStack;
  /** Called when the authorities of client certificates have changed. */
  readonly authoritiesChanged: () => void;
}

interface DelegatedAccess {
  readonly authenticator: FinalAuthenticator;
  readonly authorizer: Authorizer;
  /** PEM of the authorities of client certificates. */
  readonly authorities: () => readonly string[];
}

/** Throws if a connection file cannot be used; the message names it. */
export function openDelegatedAccess(config: DelegatedAccessConfig, parts: AccessParts): DelegatedAccess {
  const { dialect, logger, environment, metrics, clock } = parts;
  const pool = openPool(config.clientAuthorities, { ...parts, files: environment.files });
  const known = unionAuthenticator([
    ...(pool
      ? [clientCertificateAuthenticator({ dialect, pool, lifetimes: certificateLifetimes(metrics, clock) })]
      : []),
    bearerAuthenticator(reviewedTokens(config, parts), []),
  ]);
  return {
    authenticator: withFailureLog(withAnonymous(known, 'allow'), logger),
    authorizer: unionAuthorizer([masters, allowedPaths(config.alwaysAllowed), ...reviewedAccess(config, parts)]),
    authorities: () => pool?.authorities ?? [],
  };
}

function reviewedTokens({ tokenReviews }: DelegatedAccessConfig, parts: AccessParts) {
  if (!tokenReviews) return { authenticateToken: () => undefined };
  const { dialect, clock, random, metrics, held } = parts;
  const path = `/apis/${dialect.group('authentication')}/v1/tokenreviews`;
  const webhook = held.add(
    openWebhook({ type: 'server', file: tokenReviews.file, path }, limits.webhookTokenMsMax, parts),
  );
  const asking = webhookTokenAuthenticator({
    ...parts,
    ask: webhook.send,
    version: 'v1',
    ownAudiences: [],
    metrics: webhookTokenMetrics(metrics),
  });
  const { cacheMs } = tokenReviews;
  const failureMs = Math.min(cacheMs, limits.unknownTokenKeptMs);
  return cachedTokens(asking, { clock, random, successMs: cacheMs, failureMs, counts: tokenCacheCounts(metrics) });
}

function reviewedAccess({ accessReviews }: DelegatedAccessConfig, parts: AccessParts): readonly Authorizer[] {
  if (!accessReviews) return [];
  const { dialect, clock, random, logger, metrics, held } = parts;
  const { file, authorizedMs: authorizedTtlMs, unauthorizedMs: unauthorizedTtlMs } = accessReviews;
  const timeoutMs = limits.delegatedReviewMsMax;
  const webhook = held.add(openWebhook({ type: 'server', file, path: reviewPath(dialect, 'v1') }, timeoutMs, parts));
  const authorizer = new WebhookAuthorizer({
    ...{ name: 'delegated', version: 'v1', group: dialect.group('authorization'), timeoutMs },
    ...{ authorizedTtlMs, unauthorizedTtlMs, failurePolicy: 'NoOpinion', clock, random, logger },
    send: webhook.send,
    metrics: authorizationMetrics(metrics),
  });
  return [held.add(authorizer)];
}

const allowed: Decision = { verdict: 'allow', reason: '' };
const noOpinion: Decision = { verdict: 'noOpinion', reason: '' };

const allowedPaths = ({ exact, prefixes }: AllowedPaths): Authorizer => ({
  authorize(attributes) {
    if (attributes.type !== 'path') return noOpinion;
    const { path } = attributes;
    return exact.has(path) || prefixes.some((prefix) => path.startsWith(prefix)) ? allowed : noOpinion;
  },
});
