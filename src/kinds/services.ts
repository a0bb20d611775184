import type { ApiObject } from '../meta/api-object.ts';
import type { Decision, UserRules } from '../request/access.ts';
import type { Attributes } from '../request/authorization-attributes.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { IssuedToken, TokenGrant, TokenLifetime, TokenLifetimeRequest } from './authentication/token-grant.ts';

/**
 * Services of the server for answered kinds and actions, passed in their context. They are bound to one request: when it
 * ends, calls that wait for external systems reject and stop querying them.
 */
export interface KindServices {
  /** `--api-audiences` or its default: the audiences of tokens requested without any. */
  readonly apiAudiences: readonly string[];
  /**
   * The user that a bearer token identifies, by the authenticators that requests use. Undefined if no authenticator
   * recognizes the token. Rejects if one recognizes it but it is invalid; the error never contains the token.
   */
  authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticatedToken | undefined>;
  /** Decision of the authorizer chain, including evaluation errors. */
  authorize(user: UserInfo, attributes: Attributes): Decision | Promise<Decision>;
  /** Rules of a user in a namespace and for cluster-scoped and non-resource requests. */
  rulesFor(user: UserInfo, namespace: string): UserRules | Promise<UserRules>;
  /** The lifetime that a requested token would get. Does not issue a token. */
  tokenLifetime(request: TokenLifetimeRequest): TokenLifetime;
  /** Signs a token for a service account. The caller must have checked that the account and the bound object exist. */
  issueToken(grant: TokenGrant): IssuedToken | Promise<IssuedToken>;
  /** How the agents of nodes are reached. */
  readonly agents: AgentSettings;
  /** A consistent read of a core group object: includes every write acknowledged before the call. Undefined if not found. */
  object(resource: string, namespace: string, name: string): Promise<ApiObject | undefined>;
  /** Health of the control plane's components, in order of their names. */
  componentHealth(): Promise<readonly ComponentHealth[]>;
}

/** Health of a part of the control plane, by its published name. */
export interface ComponentHealth {
  readonly name: string;
  /** What is wrong. */
  readonly problem?: string;
}

/** Which address of a node is that of its agent. */
export interface AgentSettings {
  /** In order of preference. */
  readonly addressTypes: readonly string[];
  /** For nodes that do not report one. */
  readonly port: number;
}

export interface AuthenticatedToken {
  readonly user: UserInfo;
  /** The requested audiences that the token is valid for. Absent: the token is for the API server. */
  readonly audiences?: readonly string[];
}
