import type { ApiObject } from '../meta/api-object.ts';
import type { Decision, UserRules } from '../request/access.ts';
import type { Attributes } from '../request/attributes.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { IssuedToken, TokenGrant, TokenLifetime, TokenLifetimeRequest } from './authentication/token-grant.ts';

/**
 * What answered kinds and actions may ask of the server. It is on the context that they are called with,
 * and made for one request: what waits for others rejects when that ends, and they are not asked any longer.
 */
export interface KindServices {
  /** `--api-audiences`, or what stands in for it: whom tokens are for when nobody says. */
  readonly apiAudiences: readonly string[];
  /**
   * Whose a bearer token is, as a request with it would be served. Undefined where nobody knows the token; rejects where
   * somebody does and it does not hold: the error says why and never contains the token.
   */
  authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticatedToken | undefined>;
  /** What the chain of authorizers says; what went wrong on the way is in the answer. */
  authorize(user: UserInfo, attributes: Attributes): Decision | Promise<Decision>;
  /** What a user may do in a namespace and outside of namespaces. */
  rulesFor(user: UserInfo, namespace: string): UserRules | Promise<UserRules>;
  /** How long a token will be valid. Issues nothing. */
  tokenLifetime(request: TokenLifetimeRequest): TokenLifetime;
  /** Signs a token for a service account. Whoever asks has made sure that the account and what it is bound to exist. */
  issueToken(grant: TokenGrant): IssuedToken | Promise<IssuedToken>;
  /** An object of the core group, not older than any write acknowledged before the call; undefined where there is none. */
  object(resource: string, namespace: string, name: string): Promise<ApiObject | undefined>;
}

export interface AuthenticatedToken {
  readonly user: UserInfo;
  /** Those of the audiences that were asked for that the token is meant for; absent: the API server's own. */
  readonly audiences?: readonly string[];
}
