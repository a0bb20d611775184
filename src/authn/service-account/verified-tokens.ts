import { hash } from 'node:crypto';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { TokenKeySet } from '../../pki/token-key-files.ts';
import type { TokenKey } from '../../pki/token-keys.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { BoundedEntries } from '../bounded-entries.ts';
import { type Jwt, unverifiedJwt } from '../jwt.ts';
import { headerProblem, isSignedWith, keyIdOf } from '../jwt-signature.ts';
import { accountUser } from './account-user.ts';
import { kindOfToken, readClaims, type TokenClaims } from './token-claims.ts';

/** A token with a valid signature and complete claims. Expiry and revocation are not checked. */
export interface VerifiedToken {
  readonly claims: TokenClaims;
  readonly user: UserInfo;
  /** When the store last confirmed that it is revoked; monotonic milliseconds. */
  refusedAt: number;
}

interface VerifiedTokensOptions {
  readonly keys: () => TokenKeySet;
  readonly issuers: ReadonlySet<string>;
  /** Name of the scope whose service accounts are accepted. */
  readonly scope: string;
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Maximum number of cached verified tokens, and likewise of tokens of other issuers. */
  readonly verifiedMax?: number;
  readonly forgedMax?: number;
}

/**
 * Verifies each token once and caches the immutable result by the token's hash; the token is not kept. Invalid tokens
 * are cached separately and briefly, so that a flood of them neither costs a verification each nor evicts valid ones. A
 * key change clears the cached results.
 */
export class VerifiedTokens {
  readonly #options: VerifiedTokensOptions;
  readonly #verified: BoundedEntries<VerifiedToken>;
  /** The error for each. */
  readonly #forged: BoundedEntries<string>;
  /** Tokens of other issuers, cached so that they are not parsed again on each use. */
  readonly #foreign: BoundedEntries<undefined>;
  #keys: TokenKeySet;

  constructor(options: VerifiedTokensOptions) {
    const { verifiedMax = limits.verifiedTokensKept, forgedMax = limits.forgedTokensKept } = options;
    this.#options = options;
    this.#verified = new BoundedEntries({ entries: verifiedMax, weight: limits.tokenCacheTextMax });
    this.#forged = new BoundedEntries({ entries: forgedMax, weight: limits.tokenCacheTextMax });
    this.#foreign = new BoundedEntries({ entries: verifiedMax, weight: limits.tokenCacheTextMax });
    this.#keys = options.keys();
  }

  /** Undefined if the token claims another issuer. Throws an Error if it is invalid. */
  verify(token: string): VerifiedToken | undefined {
    if (token.length > limits.tokenLengthMax || !token.includes('.')) return undefined;
    this.#followKeys();
    const digest = hash('sha256', token, 'base64');
    const now = this.#options.clock.monotonic();
    const known = this.#verified.get(digest, now);
    if (known) return known.value;
    const forged = this.#forged.get(digest, now);
    if (forged) throw new Error(forged.value);
    if (this.#foreign.get(digest, now)) return undefined;
    return this.#verifyFirst(token, digest);
  }

  #followKeys(): void {
    const keys = this.#options.keys();
    if (keys === this.#keys) return;
    this.#keys = keys;
    this.#verified.clear();
    this.#forged.clear();
  }

  #verifyFirst(token: string, digest: string): VerifiedToken | undefined {
    const { issuers, scope, dialect, clock } = this.#options;
    const jwt = unverifiedJwt(token);
    const kind = jwt && kindOfToken(jwt, issuers, dialect);
    if (!jwt || !kind) {
      // Does not depend on keys.
      this.#foreign.set(digest, { value: undefined, until: Number.POSITIVE_INFINITY, weight: 0 });
      return undefined;
    }
    try {
      verifySignature(jwt, this.#keys);
      const claims = readClaims(jwt, kind, dialect);
      if (claims.scope !== scope) throw new Error('it belongs to an account of another scope');
      const verified = { claims, user: userOf(claims, dialect), refusedAt: Number.NEGATIVE_INFINITY };
      this.#verified.set(digest, { value: verified, until: Number.POSITIVE_INFINITY, weight: token.length });
      return verified;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      const until = clock.monotonic() + limits.forgedTokenMs;
      this.#forged.set(digest, { value: problem, until, weight: problem.length });
      throw error;
    }
  }
}

/** Throws an Error if no key verifies the token. A token with a key id is checked only against that key. */
function verifySignature(jwt: Jwt, keys: TokenKeySet): void {
  const problem = headerProblem(jwt.header);
  if (problem !== undefined) throw new Error(problem);
  const id = keyIdOf(jwt);
  const key = id === undefined ? undefined : keys.byId.get(id);
  const candidates: readonly TokenKey[] = id === undefined ? keys.all : key ? [key] : [];
  if (candidates.length === 0) throw new Error('it was signed with an unknown key');
  if (!candidates.some((candidate) => isSignedWith(jwt, candidate))) throw new Error('its signature does not hold');
}

const userOf = (claims: TokenClaims, dialect: Dialect): UserInfo => {
  const circumstances =
    claims.kind === 'legacy'
      ? {}
      : {
          ...(claims.tokenId !== undefined && { tokenId: claims.tokenId }),
          ...(claims.pod && { pod: claims.pod }),
          ...(claims.node && { node: claims.node }),
        };
  return accountUser(claims.account, circumstances, dialect);
};
