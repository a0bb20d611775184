import { type AnonymousPolicy, type FinalAuthenticator, withAnonymous } from '../../../authn/anonymous.ts';
import type { Authenticator, TokenAuthenticator } from '../../../authn/authenticator.ts';
import { bearerAuthenticator, tokenUnion } from '../../../authn/bearer.ts';
import { bootstrapTokenAuthenticator } from '../../../authn/bootstrap-token.ts';
import { clientCertificateAuthenticator } from '../../../authn/client-certificate.ts';
import { withFailureLog } from '../../../authn/failure-log.ts';
import { requestHeaderAuthenticator } from '../../../authn/request-header.ts';
import type { TokenObjects } from '../../../authn/service-account/revocation.ts';
import type { TokensOfScope } from '../../../authn/service-account/service-account-tokens.ts';
import { staticTokenAuthenticator } from '../../../authn/static-token.ts';
import { unionAuthenticator } from '../../../authn/union.ts';
import { webSocketTokenAuthenticator, withOrigins } from '../../../authn/web-socket.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { ApiClient } from '../../../client/api-client.ts';
import { resourcePath } from '../../../client/resource-path.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import type { Scope } from '../../../meta/scope.ts';
import type { AuthenticationConfig } from '../config.ts';
import type { IdentitySources } from './identity-sources.ts';

interface AuthenticationParts {
  readonly config: AuthenticationConfig;
  readonly sources: IdentitySources;
  readonly dialect: Dialect;
  readonly scope: Scope;
  readonly objects: TokenObjects;
  /** Authenticates requests of in-process clients. */
  readonly own: Authenticator;
  /** Client that marks used legacy tokens. */
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** True if pages of this origin may use credentials that browsers send on their own. */
  readonly allowsOrigin: (origin: string) => boolean;
  /** True if the authorizer allows everything to every user. */
  readonly allowsEverything: boolean;
}

export interface Authentication {
  readonly authenticator: FinalAuthenticator;
  /** All bearer token authenticators. */
  readonly tokens: TokenAuthenticator;
  /** Undefined if no key verifies service account tokens. */
  readonly serviceAccounts: TokensOfScope | undefined;
}

/** Authentication of a scope (spec section 5): all configured authenticators as one. */
export function openAuthentication(parts: AuthenticationParts): Authentication {
  const { config, sources, dialect, own, logger } = parts;
  const { clients, lifetimes, proxies, oidc, webhooks } = sources;
  const serviceAccounts = serviceAccountTokens(parts);
  const tokens = tokenUnion(
    [
      staticTokenAuthenticator(config.staticTokens),
      ...(serviceAccounts ? [serviceAccounts.authenticator] : []),
      ...(config.bootstrapTokens ? [bootstrapTokens(parts)] : []),
      ...(oidc ? [oidc] : []),
      ...webhooks,
    ],
    config.apiAudiences,
  );
  const { requestHeader } = config;
  const shown = [
    bearerAuthenticator(tokens, config.apiAudiences),
    webSocketTokenAuthenticator(tokens, config.apiAudiences),
  ];
  const union = unionAuthenticator([
    own,
    ...(proxies && requestHeader ? [requestHeaderAuthenticator({ ...requestHeader, pool: proxies })] : []),
    ...(clients ? [clientCertificateAuthenticator({ dialect, pool: clients, lifetimes })] : []),
    ...shown,
  ]);
  const all = withOrigins(withAnonymous(union, narrowed(parts, sources.anonymous)), {
    tokens: unionAuthenticator(shown),
    allowsOrigin: parts.allowsOrigin,
  });
  return { authenticator: withFailureLog(all, logger), tokens, serviceAccounts };
}

/** As in kube-apiserver, anonymous requests are disabled with AlwaysAllow. */
function narrowed({ allowsEverything, logger }: AuthenticationParts, policy: AnonymousPolicy): AnonymousPolicy {
  if (!allowsEverything || policy === 'refuse') return policy;
  logger.warn('anonymous requests are refused, since AlwaysAllow would let them do everything: use another authorizer');
  return 'refuse';
}

const serviceAccountTokens = ({ sources, scope, objects, client }: AuthenticationParts): TokensOfScope | undefined =>
  sources.serviceAccounts?.of({
    scope: scope.name,
    objects,
    markLegacyToken: async ({ namespace, name, uid, label, date }) => {
      const path = resourcePath({ resource: 'secrets', namespace, name });
      await client.mergePatch(path, { metadata: { uid, labels: { [label]: date } } });
    },
  });

const bootstrapTokens = ({ dialect, clock, objects }: AuthenticationParts): TokenAuthenticator =>
  bootstrapTokenAuthenticator({
    dialect,
    clock,
    // Never cache first and then the store: the response time would reveal whether a token with that ID exists.
    secret: (name, caller) => {
      const find = () => objects.secret(dialect.namespaces.system, name, 'cache');
      const waiting = caller && objects.upToDate(caller);
      return waiting ? waiting.then(find) : find();
    },
  });
