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

/** The audiences of these tokens are those of the configuration, whoever asks. */
const noAudiences: readonly string[] = [];

/** The providers of one configuration, each with an issuer of its own. */
export class ProviderSet implements Closable {
  readonly #providers = new Map<string, OidcProvider>();
  readonly #links = new Map<string, ProviderLink>();
  readonly #cache: TokenAuthenticator<IdTokenIdentity>;

  /**
   * Providers that are reached as in `before` keep their links, which then are those of both. Throws where one of them cannot
   * be made, and leaves none open that is not of `before`.
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
        // Of tokens of other issuers: those that do not hold are errors, which are not remembered.
        failureMs: limits.oidcTokenKeptMs,
        holds: (identity) => identity.holds(),
        ...(counts && { counts }),
      },
    );
  }

  #add(settings: JwtAuthenticator, context: OidcContext, set: ProviderSet | undefined): void {
    const { issuer } = settings;
    if (this.#providers.has(issuer.url)) throw new Error(`issuer ${issuer.url} is configured twice`);
    const before = set?.linkTo(issuer.url);
    const link = before?.leadsTo(issuer) ? before : new ProviderLink(issuer, context, before);
    this.#links.set(issuer.url, link);
    this.#providers.set(issuer.url, new OidcProvider(settings, link, context));
  }

  /** How an issuer is reached; undefined where it is none of them. */
  linkTo(issuer: string): ProviderLink | undefined {
    return this.#links.get(issuer);
  }

  /** Resolves when all providers were reached. */
  async ready(): Promise<void> {
    await Promise.all([...this.#providers.values()].map((provider) => provider.ready));
  }

  /** Which providers were not reached the last time, and why. */
  problems(): readonly string[] {
    return [...this.#providers.values()].flatMap(({ issuer, problem }) =>
      problem ? [`issuer ${issuer}: ${problem.message}`] : [],
    );
  }

  /** Undefined where the token is of none of them. Costs no more than taking it apart then. */
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

  /** Makes room for a set that was made with this one as `before`: what they share stays open. */
  giveWayTo(next: ProviderSet): void {
    this.#closeExcept(next);
  }

  /** Ends questions under way as failures. */
  close(): void {
    this.#closeExcept(undefined);
  }

  #closeExcept(other: ProviderSet | undefined): void {
    for (const provider of this.#providers.values()) provider.close();
    for (const [url, link] of this.#links) if (other?.linkTo(url) !== link) link.close();
  }
}
