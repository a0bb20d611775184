import type { Caller } from '../../base/caller.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { TokenAuthenticator } from '../authenticator.ts';
import { unverifiedJwt } from '../jwt.ts';
import { cachedTokens } from '../token-cache.ts';
import { claimedIssuer } from './id-token.ts';
import type { JwtAuthenticator } from './jwt-authenticator.ts';
import { type IdTokenIdentity, type OidcContext, OidcProvider } from './oidc-provider.ts';
import { ProviderLink } from './provider-link.ts';

type Answer = IdTokenIdentity | undefined | Promise<IdTokenIdentity | undefined>;

/** The provider's configuration determines the audiences of its tokens. */
const noAudiences: readonly string[] = [];

/** The providers of one configuration, one per issuer. */
export class ProviderSet implements Closable {
  readonly #providers = new Map<string, OidcProvider>();
  readonly #links = new Map<string, ProviderLink>();
  readonly #cache: TokenAuthenticator<IdTokenIdentity>;

  /**
   * Providers whose connection is unchanged share the link of `before`. Throws if a provider cannot be created, after
   * closing the links that are not shared.
   */
  constructor(authenticators: readonly JwtAuthenticator[], context: OidcContext, before?: ProviderSet) {
    try {
      for (const each of authenticators) this.#add(each, context, before);
    } catch (error) {
      this.#closeExcept(before);
      throw error;
    }
    const { clock, random, tokenCacheCounts: counts } = context;
    this.#cache = cachedTokens<IdTokenIdentity>(
      { authenticateToken: (token, _audiences, caller) => this.#identify(token, caller) },
      {
        ...{ clock, random, successMs: limits.oidcTokenKeptMs },
        // Applies to tokens of other issuers; invalid tokens are errors, which are not cached.
        failureMs: limits.oidcTokenKeptMs,
        isValid: (identity) => identity.isValid(),
        ...(counts && { counts }),
      },
    );
  }

  #add(settings: JwtAuthenticator, context: OidcContext, set: ProviderSet | undefined): void {
    const { issuer } = settings;
    if (this.#providers.has(issuer.url)) throw new Error(`issuer ${issuer.url} is configured twice`);
    const before = set?.linkTo(issuer.url);
    const link = before?.fits(issuer) ? before : new ProviderLink(issuer, context, before);
    this.#links.set(issuer.url, link);
    this.#providers.set(issuer.url, new OidcProvider(settings, link, context));
  }

  /** The link to an issuer; undefined if it is not configured. */
  linkTo(issuer: string): ProviderLink | undefined {
    return this.#links.get(issuer);
  }

  /** Resolves when all providers have been reached. */
  async ready(): Promise<void> {
    await Promise.all([...this.#providers.values()].map((provider) => provider.ready));
  }

  /** Providers whose last fetch failed, with the reason. */
  problems(): readonly string[] {
    return [...this.#providers.values()].flatMap(({ issuer, problem }) =>
      problem ? [`issuer ${issuer}: ${problem.message}`] : [],
    );
  }

  /** Undefined if the token is of no configured issuer; that costs only parsing it. */
  authenticateToken(token: string, caller?: Caller): Answer {
    if (this.#providers.size === 0 || !token.includes('.')) return undefined;
    return this.#cache.authenticateToken(token, noAudiences, caller);
  }

  #identify(token: string, caller: Caller | undefined): Answer {
    const jwt = unverifiedJwt(token);
    const issuer = jwt && claimedIssuer(jwt);
    const provider = issuer === undefined ? undefined : this.#providers.get(issuer);
    return provider && jwt && provider.authenticate(jwt, caller);
  }

  /** Closes this set after `next` was created with it as `before`; shared links stay open. */
  closeReplacedBy(next: ProviderSet): void {
    this.#closeExcept(next);
  }

  /** Aborts pending requests, which then fail. */
  close(): void {
    this.#closeExcept(undefined);
  }

  #closeExcept(other: ProviderSet | undefined): void {
    for (const provider of this.#providers.values()) provider.close();
    for (const [url, link] of this.#links) if (other?.linkTo(url) !== link) link.close();
  }
}
