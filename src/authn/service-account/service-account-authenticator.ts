import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { TokenKeySet } from '../../pki/token-key-files.ts';
import type { TokenAuthenticator, TokenIdentity } from '../authenticator.ts';
import { type TimeProblem, timeProblem } from '../jwt-times.ts';
import type { LegacyTokenUse } from './legacy-token-use.ts';
import {
  type BoundObjects,
  boundTokenProblem,
  type Freshness,
  findBound,
  invalidSinceLabel,
  legacyTokenProblem,
  type TokenObjects,
} from './revocation.ts';
import type { TokenMetrics } from './token-metrics.ts';
import { type VerifiedToken, VerifiedTokens } from './verified-tokens.ts';

interface ServiceAccountAuthenticatorOptions {
  readonly dialect: Dialect;
  /** The current keys; the same object until a key changes. */
  readonly keys: () => TokenKeySet;
  /** `--service-account-issuer`: tokens of each of them are accepted. */
  readonly issuers: readonly string[];
  /** Name of the scope whose service accounts are accepted. */
  readonly scope: string;
  /** `--api-audiences`: the audiences of tokens that name none. */
  readonly apiAudiences: readonly string[];
  /**
   * `--service-account-lookup`: tokens stored in Secrets become invalid with the Secret and its account. Bound tokens
   * always become invalid with the objects to which they are bound.
   */
  readonly lookup: boolean;
  readonly objects: TokenObjects;
  readonly clock: Clock;
  readonly metrics: TokenMetrics;
  /** Default: the last use of token Secrets is not recorded. */
  readonly legacyTokenUse?: LegacyTokenUse;
}

/**
 * Authenticates service account tokens (spec section 5.3). Revocation takes effect immediately: only the immutable
 * parts of a token are cached, times and objects are checked on each use. Synchronous as long as the objects are in the
 * cache.
 */
export function serviceAccountAuthenticator(options: ServiceAccountAuthenticatorOptions): TokenAuthenticator {
  const { dialect, keys, scope, clock } = options;
  const tokens = new VerifiedTokens({ keys, scope, dialect, clock, issuers: new Set(options.issuers) });
  return {
    authenticateToken(token, audiences) {
      const verified = tokens.verify(token);
      if (!verified) return undefined;
      const time = timeProblem(verified.claims.times, clock.now());
      if (time !== undefined) throw new Error(timeProblems[time]);
      const identity = identify(verified, audiences, options);
      const check = new Check(token, verified, options);
      const accept = (objects: BoundObjects | undefined): TokenIdentity => {
        check.noteUse(objects);
        return identity;
      };
      const objects = check.objects();
      return objects instanceof Promise ? objects.then(accept) : accept(objects);
    },
  };
}

const timeProblems: Readonly<Record<TimeProblem, string>> = {
  expired: 'the token has expired',
  notYetValid: 'the token is not valid yet',
  issuedInFuture: 'the token was issued in the future',
};

/** The user, and the requested audiences for which the token is valid. Throws if there are none. */
function identify(
  { claims, user }: VerifiedToken,
  asked: readonly string[],
  { apiAudiences }: ServiceAccountAuthenticatorOptions,
): TokenIdentity {
  // The server has no audiences of its own, so the caller decides who may use the token.
  if (!claims.audiences && apiAudiences.length === 0) return { user };
  const meant = new Set(claims.audiences ?? apiAudiences);
  const audiences = asked.filter((audience) => meant.has(audience));
  if (audiences.length > 0) return { user, audiences };
  throw new Error(`the token is for ${show([...meant])}, not for ${show(asked)}`);
}

/** Both lists are unbounded, so they are shortened. */
const show = (audiences: readonly string[]): string =>
  JSON.stringify(audiences.slice(0, limits.audiencesShown).map((each) => each.slice(0, limits.audienceLengthShown)));

/** One attempt to authenticate with a token. */
class Check {
  readonly #token: string;
  readonly #verified: VerifiedToken;
  readonly #options: ServiceAccountAuthenticatorOptions;

  constructor(token: string, verified: VerifiedToken, options: ServiceAccountAuthenticatorOptions) {
    this.#token = token;
    this.#verified = verified;
    this.#options = options;
  }

  /**
   * The objects to which the token is bound, or undefined if none are required. Throws or rejects if it has been
   * revoked. An object missing in the cache may have been created by another server just now, so the store is read; but
   * only once per `limits.refusedTokenMs`, so that repeated use of an invalid token does not load the store.
   */
  objects(): BoundObjects | undefined | Promise<BoundObjects | undefined> {
    const { claims } = this.#verified;
    if (claims.kind === 'legacy' && !this.#options.lookup) return undefined;
    const decide = (found: BoundObjects): BoundObjects | Promise<BoundObjects> => {
      const problem = this.#problem(found);
      if (problem === undefined) return found;
      if (this.#refusedLately()) throw new Error(problem);
      return this.#askStore();
    };
    const found = this.#find('cache');
    return found instanceof Promise ? found.then(decide) : decide(found);
  }

  async #askStore(): Promise<BoundObjects> {
    const found = await this.#find('store');
    const problem = this.#problem(found);
    if (problem === undefined) return found;
    this.#verified.refusedAt = this.#options.clock.monotonic();
    throw new Error(problem);
  }

  #refusedLately(): boolean {
    return this.#options.clock.monotonic() - this.#verified.refusedAt < limits.refusedTokenMs;
  }

  #find(freshness: Freshness): BoundObjects | Promise<BoundObjects> {
    return findBound(this.#verified.claims, this.#options.objects, freshness);
  }

  #problem(found: BoundObjects): string | undefined {
    const { claims } = this.#verified;
    return claims.kind === 'legacy'
      ? legacyTokenProblem(claims, found, this.#token)
      : boundTokenProblem(claims, found, this.#options.clock.now());
  }

  /** Counts the use. Throws if the token's Secret is marked as invalid. */
  noteUse(found: BoundObjects | undefined): void {
    const { claims } = this.#verified;
    const { metrics, clock } = this.#options;
    if (!claims.audiences) metrics.countLegacy();
    if (claims.kind === 'legacy') {
      if (found?.secret) this.#noteSecret(found.secret, found.account);
    } else if (claims.warnAfter !== undefined) {
      if (clock.now() > claims.warnAfter * 1000) metrics.countStale();
      else metrics.countValid();
    }
  }

  #noteSecret(secret: ApiObject, account: ApiObject | undefined): void {
    const { metrics, dialect, legacyTokenUse } = this.#options;
    legacyTokenUse?.note(secret);
    if (secret.metadata.labels?.[invalidSinceLabel(dialect)]) {
      metrics.countInvalidated();
      throw new Error(`the secret ${secret.metadata.name} is labelled ${invalidSinceLabel(dialect)}`);
    }
    if (listsSecret(account, secret)) metrics.countAutomatic();
    else metrics.countManual();
  }
}

/** Clusters before 1.24 listed their generated Secrets in the service account. */
function listsSecret(account: ApiObject | undefined, { metadata: { name } }: ApiObject): boolean {
  const secrets = account?.['secrets'];
  return Array.isArray(secrets) && secrets.some((each: { readonly name?: unknown }) => each?.name === name);
}
