import type { Closable } from '../../base/disposable.ts';
import { ClosableStack } from '../../base/disposable.ts';
import type { TokenIdentity } from '../authenticator.ts';
import { unverifiedJwt } from '../jwt.ts';
import { claimedIssuer } from './id-token.ts';
import type { JwtAuthenticator } from './jwt-authenticator.ts';
import { type OidcContext, OidcProvider } from './oidc-provider.ts';

/** The providers of one configuration, each with an issuer of its own. */
export class ProviderSet implements Closable {
  readonly #providers = new Map<string, OidcProvider>();
  readonly #held = new ClosableStack();
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
  authenticateToken(token: string): TokenIdentity | undefined | Promise<TokenIdentity | undefined> {
    if (this.#providers.size === 0) return undefined;
    const jwt = unverifiedJwt(token);
    const issuer = jwt && claimedIssuer(jwt);
    const provider = issuer === undefined ? undefined : this.#providers.get(issuer);
    if (!jwt || !provider) return undefined;
    const answer = provider.authenticate(token, jwt);
    return answer instanceof Promise ? this.#until(answer) : answer;
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
