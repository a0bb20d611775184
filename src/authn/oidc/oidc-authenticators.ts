import type { Caller } from '../../base/caller.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { TokenAuthenticator, TokenIdentity } from '../authenticator.ts';
import type { JwtAuthenticator } from './jwt-authenticator.ts';
import type { OidcContext } from './oidc-provider.ts';
import { ProviderSet } from './provider-set.ts';

type Answer = TokenIdentity | undefined | Promise<TokenIdentity | undefined>;

interface LateAnswer {
  readonly token: string;
  readonly answer: Promise<TokenIdentity | undefined>;
  readonly caller: Caller | undefined;
}

/**
 * Authenticates tokens of OpenID Connect providers (spec section 5.5). Providers are contacted in the background:
 * tokens that arrive before their provider's keys are an error, and nothing else waits. Audiences are checked against
 * the configuration of the provider, not against those of the API server.
 *
 * Caches accepted tokens for their lifetime, so do not wrap it in another cache.
 */
export class OidcAuthenticators implements TokenAuthenticator, Closable {
  readonly #context: OidcContext;
  #current: ProviderSet;
  #timer: Closable | undefined;
  #closed = false;

  /** Starts without waiting for the providers. Throws if the certificate authority of a provider is invalid. */
  constructor(authenticators: readonly JwtAuthenticator[], context: OidcContext) {
    this.#context = context;
    this.#current = new ProviderSet(authenticators, context);
  }

  authenticateToken(token: string, _audiences?: readonly string[], caller?: Caller): Answer {
    const asked = this.#current;
    const answer = asked.authenticateToken(token, caller);
    return answer instanceof Promise ? this.#answerOf(asked, { token, answer, caller }) : answer;
  }

  /** Discards results of a configuration that was replaced in the meantime and authenticates again. */
  async #answerOf(asked: ProviderSet, { token, answer, caller }: LateAnswer): Promise<TokenIdentity | undefined> {
    const settled = await answer.then(
      (identity) => () => identity,
      (error) => () => {
        throw error;
      },
    );
    return this.#current === asked ? settled() : this.authenticateToken(token, undefined, caller);
  }

  /** Providers whose last fetch failed, with the reason. */
  problems(): readonly string[] {
    return this.#current.problems();
  }

  /**
   * Applies a changed configuration. Whatever it removes (providers, audiences, rules, authorities) is invalid
   * immediately. Additions take effect as soon as their provider has been reached, independently of the others. Once
   * all have been reached, the reload is reported as a success; until then it is reported as a failure every
   * `limits.oidcReloadMsMax`. Throws without changing anything if the certificate authority of a provider is invalid;
   * pass that error to `reloadFailed`.
   */
  replace(authenticators: readonly JwtAuthenticator[]): void {
    if (this.#closed) return;
    const before = this.#current;
    const next = new ProviderSet(authenticators, this.#context, before);
    this.#current = next;
    before.closeReplacedBy(next);
    this.#timer?.close();
    this.#reportLate(next);
    void next.ready().then(() => this.#reached(next));
  }

  /** Reports a changed configuration that cannot be read or applied. The current one stays in use. */
  reloadFailed(error: unknown): void {
    this.#report('the authentication configuration is not reloaded; the one before it stays in use', error);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.close();
    this.#current.close();
  }

  #reached(set: ProviderSet): void {
    if (this.#current !== set || this.#closed) return;
    this.#timer?.close();
    this.#context.metrics.reloaded('success');
    this.#context.logger.info('the authentication configuration was reloaded');
  }

  #reportLate(set: ProviderSet): void {
    this.#timer = this.#context.clock.after(limits.oidcReloadMsMax, () => {
      const message = 'the authentication configuration is reloaded, but for providers that have not been reached';
      this.#report(message, new Error(`providers have not been reached: ${set.problems().join('; ')}`));
      this.#reportLate(set);
    });
  }

  #report(message: string, error: unknown): void {
    this.#context.logger.error(message, { error });
    this.#context.metrics.reloaded('failure');
  }
}
