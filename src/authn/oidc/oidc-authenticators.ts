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
 * Tells whose the tokens of OpenID Connect providers are (spec section 5.5). Providers are reached in the background: a
 * token that comes before is an error, and nothing else waits. What a token is meant for is between it and its provider:
 * its audiences are checked against the configuration, and are not those of the API server.
 *
 * Remembers tokens itself, for as long as they are good: no other cache belongs around it.
 */
export class OidcAuthenticators implements TokenAuthenticator, Closable {
  readonly #context: OidcContext;
  #current: ProviderSet;
  #timer: Closable | undefined;
  #closed = false;

  /** Starts without waiting for the providers. Throws where the authorities of one cannot be read. */
  constructor(authenticators: readonly JwtAuthenticator[], context: OidcContext) {
    this.#context = context;
    this.#current = new ProviderSet(authenticators, context);
  }

  authenticateToken(token: string, _audiences?: readonly string[], caller?: Caller): Answer {
    const asked = this.#current;
    const answer = asked.authenticateToken(token, caller);
    return answer instanceof Promise ? this.#answerOf(asked, { token, answer, caller }) : answer;
  }

  /** What was found by a configuration that no longer counts is not said: the present one is asked. */
  async #answerOf(asked: ProviderSet, { token, answer, caller }: LateAnswer): Promise<TokenIdentity | undefined> {
    const settled = await answer.then(
      (identity) => () => identity,
      (error) => () => {
        throw error;
      },
    );
    return this.#current === asked ? settled() : this.authenticateToken(token, undefined, caller);
  }

  /** Which providers were not reached the last time, and why. */
  problems(): readonly string[] {
    return this.#current.problems();
  }

  /**
   * Takes in a changed configuration. What it no longer has counts no more from now on: providers, audiences, rules,
   * authorities. What it has newly counts as soon as the provider that it concerns has been reached; nothing waits for
   * another. Once all have been reached the reload is reported as a success, and until then as a failure each
   * `limits.oidcReloadMsMax`. Throws, and changes nothing, where the authorities of one cannot be read: hand that to
   * `reloadFailed`.
   */
  replace(authenticators: readonly JwtAuthenticator[]): void {
    if (this.#closed) return;
    const before = this.#current;
    const next = new ProviderSet(authenticators, this.#context, before);
    this.#current = next;
    before.giveWayTo(next);
    this.#timer?.close();
    this.#reportLate(next);
    void next.ready().then(() => this.#reached(next));
  }

  /** Reports a changed configuration that cannot be read or used. The one in use stays. */
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
