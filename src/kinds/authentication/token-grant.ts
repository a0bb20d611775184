/** What tokens of service accounts are asked for with (spec section 2.3), by the kind, and made from, by whoever signs them. */

/** What the lifetime of a token depends on. */
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
