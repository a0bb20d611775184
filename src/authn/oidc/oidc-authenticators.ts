import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { TokenAuthenticator, TokenIdentity } from '../authenticator.ts';
import type { JwtAuthenticator } from './jwt-authenticator.ts';
import type { OidcContext } from './oidc-provider.ts';
import { ProviderSet } from './provider-set.ts';

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
  /** Is to replace the current ones once all of its providers have been reached. */
  #next: ProviderSet | undefined;
  #timer: Closable | undefined;
  #closed = false;

  /** Starts without waiting for the providers. Throws where the authorities of one cannot be read. */
  constructor(authenticators: readonly JwtAuthenticator[], context: OidcContext) {
    this.#context = context;
    this.#current = new ProviderSet(authenticators, context);
  }

  authenticateToken(token: string): TokenIdentity | undefined | Promise<TokenIdentity | undefined> {
    return this.#current.authenticateToken(token);
  }

  /** Which providers were not reached the last time, and why; those of a replacement that waits included. */
  problems(): readonly string[] {
    return [...this.#current.problems(), ...(this.#next?.problems() ?? [])];
  }

  /**
   * Takes in a changed configuration: it replaces the one before from one token to the next, when all of its providers have
   * been reached. Each `limits.oidcReloadMsMax` that this takes is reported as a failed reload, and the one before stays in
   * use. Only the last of several that wait is taken. Throws, and changes nothing, where the authorities of one cannot be
   * read: hand that to `reloadFailed`.
   */
  replace(authenticators: readonly JwtAuthenticator[]): void {
    if (this.#closed) return;
    const next = new ProviderSet(authenticators, this.#context);
    this.#dropNext();
    this.#next = next;
    this.#reportLate(next);
    void next.ready().then(() => this.#take(next));
  }

  /**
   * Reports a changed configuration that cannot be used. The one in use stays; one that waits is dropped, since the file no
   * longer says so.
   */
  reloadFailed(error: unknown): void {
    this.#dropNext();
    this.#report(error);
  }

  /** Reports that the file could not be read. That says nothing of what stands in it: one that waits goes on waiting. */
  fileUnreadable(error: unknown): void {
    this.#report(error);
  }

  close(): void {
    this.#closed = true;
    this.#dropNext();
    this.#current.close();
  }

  #take(next: ProviderSet): void {
    if (this.#next !== next) return;
    this.#timer?.close();
    const before = this.#current;
    this.#current = next;
    this.#next = undefined;
    before.retire();
    this.#context.metrics.reloaded('success');
    this.#context.logger.info('the authentication configuration was reloaded');
  }

  #reportLate(next: ProviderSet): void {
    this.#timer = this.#context.clock.after(limits.oidcReloadMsMax, () => {
      this.#report(new Error(`providers have not been reached: ${next.problems().join('; ')}`));
      this.#reportLate(next);
    });
  }

  #report(error: unknown): void {
    const message = 'the authentication configuration is not reloaded; the one before it stays in use';
    this.#context.logger.error(message, { error });
    this.#context.metrics.reloaded('failure');
  }

  #dropNext(): void {
    this.#timer?.close();
    this.#next?.close();
    this.#next = undefined;
  }
}
