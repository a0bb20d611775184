/** Types for requesting (`core/service-account-token.ts`) and issuing service account tokens (spec section 2.3). */

/** The inputs that determine the lifetime of a token. */
export interface TokenLifetimeRequest {
  /** As requested, after defaulting and validation. */
  readonly expirationSeconds: number;
  readonly audiences: readonly string[];
  readonly boundToPod: boolean;
}

/** Lifetime of a token, in seconds from its issue. */
export interface TokenLifetime {
  /** Reported to the client: the requested value, capped at the allowed maximum. */
  readonly expirationSeconds: number;
  /** Actual validity. Longer than reported if expiration is extended for clients that do not reload tokens (KEP-1205). */
  readonly lifetimeSeconds: number;
  /** Use of the token is reported as stale from then on. Set only if the validity is longer than reported. */
  readonly warnAfterSeconds?: number;
  /** Text of a `Warning` header for the client. */
  readonly warning?: string;
}

/** Identifies one object, as opposed to a later one of the same name. */
export interface ObjectIdentity {
  readonly name: string;
  readonly uid: string;
}

/** The bound object of a token: the token becomes invalid when it is deleted. */
export type TokenBinding =
  | (ObjectIdentity & {
      readonly kind: 'pod';
      /** The pod's node, once scheduled; without uid if the Node object does not exist. */
      readonly node?: { readonly name: string; readonly uid?: string };
    })
  | (ObjectIdentity & { readonly kind: 'secret' | 'node' });

export interface TokenGrant extends Pick<TokenLifetime, 'lifetimeSeconds' | 'warnAfterSeconds'> {
  readonly account: ObjectIdentity & { readonly namespace: string };
  readonly binding?: TokenBinding;
  /** At least one. */
  readonly audiences: readonly string[];
}

export interface IssuedToken {
  readonly token: string;
  /** Time of issue, in seconds since the Unix epoch; the lifetime starts here. */
  readonly issuedAt: number;
}
