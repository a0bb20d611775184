import type { Caller } from '../../base/caller.ts';
import type { Closable } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Network } from '../../outbound/network.ts';
import type { TokenIdentity } from '../authenticator.ts';
import type { Jwt, JwtFields } from '../jwt.ts';
import type { TokenCacheCounts } from '../token-cache.ts';
import { DistributedClaims } from './distributed-claims.ts';
import { expiryMs, type IdTokenRules, verifyIdToken } from './id-token.ts';
import type { JwtAuthenticator } from './jwt-authenticator.ts';
import type { KeySource } from './key-source.ts';
import type { OidcMetrics } from './oidc-metrics.ts';
import type { ProviderLink } from './provider-link.ts';

export interface OidcContext {
  readonly clock: Clock;
  readonly network: Network;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: OidcMetrics;
  /** Counts of token cache hits and misses. */
  readonly tokenCacheCounts?: TokenCacheCounts;
}

/** The user of a token, and for how long it is valid. */
export interface IdTokenIdentity extends TokenIdentity {
  /** False once the token has expired or the provider's keys have changed since it was verified. */
  readonly isValid: () => boolean;
}

/** Claims of a verified token, including distributed ones. */
interface Verified {
  readonly claims: JwtFields;
  readonly isValid: () => boolean;
}

/** Authenticates the tokens of one provider, by the rules of one configuration and the keys of a link. */
export class OidcProvider implements Closable {
  readonly #settings: JwtAuthenticator;
  readonly #context: OidcContext;
  readonly #rules: IdTokenRules;
  readonly #keys: KeySource;
  readonly #distributed: DistributedClaims;

  /** The caller owns the link and closes it. */
  constructor(settings: JwtAuthenticator, link: ProviderLink, context: OidcContext) {
    const { issuer, signingAlgorithms } = settings;
    this.#settings = settings;
    this.#context = context;
    this.#rules = { algorithms: signingAlgorithms, audiences: issuer.audiences };
    this.#keys = link.keys;
    this.#distributed = new DistributedClaims({
      connection: link.connection,
      clock: context.clock,
      rules: this.#rules,
      issuer: issuer.url,
      keys: link.keys,
      keysOf: (url) => link.keysOf({ url }),
    });
  }

  get issuer(): string {
    return this.#settings.issuer.url;
  }

  /** Resolves when tokens can be verified; pending as long as the provider has not been reached. */
  get ready(): Promise<void> {
    return this.#keys.ready;
  }

  /** Error of the last attempt to fetch the provider's keys; undefined if it succeeded. Known keys stay in use. */
  get problem(): Error | undefined {
    return this.#keys.problem;
  }

  /**
   * The user of a token that claims this issuer. Throws or rejects with the reason if it is invalid. Synchronous unless
   * something must be fetched.
   */
  authenticate(jwt: Jwt, caller?: Caller): IdTokenIdentity | Promise<IdTokenIdentity> {
    const { clock, metrics } = this.#context;
    const start = clock.monotonic();
    const report = (result: 'success' | 'failure') =>
      metrics.verified(this.issuer, result, (clock.monotonic() - start) / 1000);
    const succeed = ({ claims, isValid }: Verified): IdTokenIdentity => {
      const user = this.#settings.identify(claims);
      report('success');
      return { user, isValid };
    };
    const fail = (error: unknown): never => {
      report('failure');
      throw error;
    };
    try {
      const verifying = verifyIdToken(jwt, this.#keys, this.#rules, clock.now());
      const verified = verifying ? verifying.then(() => this.#verified(jwt, caller)) : this.#verified(jwt, caller);
      return verified instanceof Promise ? verified.then(succeed).catch(fail) : succeed(verified);
    } catch (error) {
      return fail(error);
    }
  }

  /** For a token just verified with the current keys. */
  #verified(jwt: Jwt, caller: Caller | undefined): Verified | Promise<Verified> {
    const { clock } = this.#context;
    const { keys } = this.#keys;
    const end = expiryMs(jwt);
    const isValid = (): boolean => this.#keys.keys === keys && clock.now() <= end;
    const claims = this.#allClaims(jwt, caller);
    return claims instanceof Promise ? claims.then((all) => ({ claims: all, isValid })) : { claims, isValid };
  }

  #allClaims({ claims }: Jwt, caller: Caller | undefined): JwtFields | Promise<JwtFields> {
    const { groupsClaim } = this.#settings;
    return groupsClaim === undefined ? claims : this.#distributed.resolve(claims, groupsClaim, caller);
  }

  close(): void {
    this.#distributed.close();
  }
}
