import type { ApiObject } from '../meta/api-object.ts';
import type { Attributes } from '../request/attributes.ts';
import type { UserInfo } from '../request/user-info.ts';

/**
 * What kinds that are answered ask of the server. The rooms that can answer stand above this one, and are made after the
 * kinds are: so kinds are given a function that gives these when a request comes.
 */
export interface KindPowers {
  /** `--api-audiences`, or what stands in for it: whom tokens are for when nobody says. */
  readonly apiAudiences: readonly string[];
  /**
   * Whose a bearer token is, as a request with it would be served. Undefined where nobody knows the token; rejects where
   * somebody does and it does not hold: the error says why and never contains the token.
   */
  authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticatedToken | undefined>;
  /** What the chain of authorizers says; what went wrong on the way is in the answer. */
  authorize(user: UserInfo, attributes: Attributes): AccessDecision | Promise<AccessDecision>;
  /** What a user may do in a namespace and outside of namespaces. */
  rulesFor(user: UserInfo, namespace: string): AccessRules | Promise<AccessRules>;
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

export interface AccessDecision {
  readonly verdict: 'allow' | 'deny' | 'noOpinion';
  /** May be ''. */
  readonly reason: string;
  /** What could not be looked up, or failed, on the way to the verdict. */
  readonly evaluationError?: string;
}

export interface AccessRules {
  readonly resourceRules: readonly {
    readonly verbs: readonly string[];
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    /** None means all objects. */
    readonly resourceNames: readonly string[];
  }[];
  readonly pathRules: readonly {
    readonly verbs: readonly string[];
    readonly nonResourceURLs: readonly string[];
  }[];
  /** More is allowed than can be listed. */
  readonly incomplete: boolean;
  readonly errors: readonly string[];
}

export interface TokenLifetimeRequest {
  /** As asked, defaulted and validated. */
  readonly expirationSeconds: number;
  readonly audiences: readonly string[];
  readonly boundToPod: boolean;
}

/** Seconds from the issue on. */
export interface TokenLifetime {
  /** What the client is told: what it asked for, or the most that it may have. */
  readonly expirationSeconds: number;
  /** How long the token is valid: longer, where clients that never read it again are given time to change (KEP-1205). */
  readonly lifetimeSeconds: number;
  /** From when on the use of the token is to be warned of; only where it is valid for longer than was told. */
  readonly warnAfterSeconds?: number;
  /** For the client, as text of a `Warning` header. */
  readonly warning?: string;
}

/** An object, and no other of its name. */
export interface ObjectIdentity {
  readonly name: string;
  readonly uid: string;
}

/** What a token ends with. */
export type TokenBinding =
  | (ObjectIdentity & {
      readonly kind: 'pod';
      /** Where the pod runs, once that is known; without uid where there is no such node. */
      readonly node?: { readonly name: string; readonly uid?: string };
    })
  | (ObjectIdentity & { readonly kind: 'secret' | 'node' });

export interface TokenGrant extends Pick<TokenLifetime, 'lifetimeSeconds' | 'warnAfterSeconds'> {
  readonly account: ObjectIdentity & { readonly namespace: string };
  readonly binding?: TokenBinding;
  /** One at least. */
  readonly audiences: readonly string[];
}

export interface IssuedToken {
  readonly token: string;
  /** From when on its times count. Seconds since the Unix epoch. */
  readonly issuedAt: number;
}

/** Gives the powers at the time of a request. */
export type PowersSource = () => KindPowers;

/** For kinds that are made for their schemas only. */
export const withoutPowers: PowersSource = () => {
  throw new Error('these kinds were made without what it takes to answer requests');
};
