import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
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
  /** The keys of now; the same object as long as none has changed. */
  readonly keys: () => TokenKeySet;
  /** `--service-account-issuer`: tokens of each are taken. */
  readonly issuers: readonly string[];
  /** Name of the scope whose accounts' tokens hold. */
  readonly scope: string;
  /** `--api-audiences`: whom tokens are for that name nobody. */
  readonly apiAudiences: readonly string[];
  /**
   * `--service-account-lookup`: tokens that are kept in Secrets end with the Secret and its account. Others always end with
   * what they are bound to.
   */
  readonly lookup: boolean;
  readonly objects: TokenObjects;
  readonly clock: Clock;
  readonly metrics: TokenMetrics;
  /** Absent: the last use of Secrets is not noted. */
  readonly legacyTokenUse?: LegacyTokenUse;
}

/**
 * Knows the bearers of service-account tokens (spec section 5.3). Revocation counts at once: only what can never change of
 * a token is kept, times and objects are looked at each time. Stays synchronous as long as the objects are in the cache.
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

/** The bearer, with those of the audiences asked for that the token is meant for. Throws where there are none. */
function identify(
  { claims, user }: VerifiedToken,
  asked: readonly string[],
  { apiAudiences }: ServiceAccountAuthenticatorOptions,
): TokenIdentity {
  // A server without a name of its own: who may use such a token is for those to say who ask.
  if (!claims.audiences && apiAudiences.length === 0) return { user };
  const meant = new Set(claims.audiences ?? apiAudiences);
  const audiences = asked.filter((audience) => meant.has(audience));
  if (audiences.length > 0) return { user, audiences };
  throw new Error(`the token is for ${show([...meant])}, not for ${show(asked)}`);
}

/** Both lists may be as long as somebody likes. */
const show = (audiences: readonly string[]): string =>
  JSON.stringify(audiences.slice(0, limits.audiencesShown).map((each) => each.slice(0, limits.audienceLengthShown)));

/** One use of one token, from here on until it is accepted or not. */
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
   * What the token is bound to, or undefined where it needs nothing. Throws, or rejects, where it has been revoked. What
   * the cache does not know may have been made by another server a moment ago: then the store is asked, but not again and
   * again by someone who keeps on showing a token that is of no use.
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

  /** Counts the use. Throws where the Secret of the token says that it must not be used any more. */
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

/** Old clusters listed the Secrets that they made in the account. */
function listsSecret(account: ApiObject | undefined, { metadata: { name } }: ApiObject): boolean {
  const secrets = account?.['secrets'];
  return Array.isArray(secrets) && secrets.some((each: { readonly name?: unknown }) => each?.name === name);
}
