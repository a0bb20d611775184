import type { Closable } from '../../base/disposable.ts';
import { ClosableStack } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { TokenAuthenticator } from '../authenticator.ts';
import { unverifiedJwt } from '../jwt.ts';
import { cachedTokens } from '../token-cache.ts';
import { claimedIssuer } from './id-token.ts';
import type { JwtAuthenticator } from './jwt-authenticator.ts';
import { type IdTokenIdentity, type OidcContext, OidcProvider } from './oidc-provider.ts';

type Answer = IdTokenIdentity | undefined | Promise<IdTokenIdentity | undefined>;

/** The audiences of these tokens are those of the configuration, whoever asks. */
const noAudiences: readonly string[] = [];

/** The providers of one configuration, each with an issuer of its own. */
export class ProviderSet implements Closable {
  readonly #providers = new Map<string, OidcProvider>();
  readonly #held = new ClosableStack();
  readonly #cache: TokenAuthenticator<IdTokenIdentity>;
  #pending = 0;
  #retired = false;

  /** Throws where one of them cannot be made, and leaves none open. */
  constructor(authenticators: readonly JwtAuthenticator[], context: OidcContext) {
    try {
      for (const each of authenticators) {
        if (this.#providers.has(each.issuer.url)) throw new Error(`issuer ${each.issuer.url} is configured twice`);
        this.#providers.set(each.issuer.url, this.#held.add(new OidcProvider(each, context)));
      }
    } catch (error) {
      this.close();
      throw error;
    }
    const { clock, random, tokenCacheCounts: counts } = context;
    this.#cache = cachedTokens<IdTokenIdentity>(
      { authenticateToken: (token) => this.#identify(token) },
      {
        ...{ clock, random, successMs: limits.oidcTokenKeptMs },
        // Of tokens of other issuers: those that do not hold are errors, which are not remembered.
        failureMs: limits.oidcTokenKeptMs,
        holds: (identity) => identity.holds(),
        ...(counts && { counts }),
      },
    );
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
  authenticateToken(token: string): Answer {
    if (this.#providers.size === 0 || !token.includes('.')) return undefined;
    const answer = this.#cache.authenticateToken(token, noAudiences);
    return answer instanceof Promise ? this.#until(answer) : answer;
  }

  #identify(token: string): Answer {
    const jwt = unverifiedJwt(token);
    const issuer = jwt && claimedIssuer(jwt);
    const provider = issuer === undefined ? undefined : this.#providers.get(issuer);
    return provider && jwt && provider.authenticate(jwt);
  }

  async #until<T>(answer: Promise<T>): Promise<T> {
    this.#pending += 1;
    try {
      return await answer;
    } finally {
      this.#pending -= 1;
      if (this.#retired && this.#pending === 0) this.close();
    }
  }

  /** Closes when the last question has been answered. */
  retire(): void {
    this.#retired = true;
    if (this.#pending === 0) this.close();
  }

  /** Ends questions under way as failures. */
  close(): void {
    this.#held.close();
  }
}
