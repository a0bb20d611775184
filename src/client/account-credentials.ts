import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Clock } from '../base/time/clock.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { parseTime } from '../meta/time.ts';
import { bearer, type Credential, type Credentials } from '../outbound/credentials/credentials.ts';
import { fitsHeader } from '../outbound/header-encoding.ts';
import { getOwn, isRecord } from '../schema/own-property.ts';
import { type ApiClient, hasReason } from './api-client.ts';
import { resourcePath } from './resource-path.ts';

interface AccountCredentialsOptions {
  /** Client for the token requests. Must be allowed to create service accounts and tokens for them. */
  readonly client: ApiClient;
  readonly account: { readonly namespace: string; readonly name: string };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dialect: Dialect;
}

/**
 * A service account token could not be obtained. Never an ApiError, whatever the cause: an error such as NotFound would be
 * mistaken for the response to the request that needed the token.
 */
export class AccountCredentialsError extends Error {
  constructor({ namespace, name }: AccountCredentialsOptions['account'], cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`no token of the service account ${namespace}/${name}: ${why}`, { cause });
    this.name = 'AccountCredentialsError';
  }
}

/**
 * Service account tokens from TokenRequest (spec section 5.3), kept in memory only. Creates the account if it does not exist. A
 * token is replaced when most of its lifetime has passed or the server rejects it; if it cannot be replaced, it stays in use.
 * Concurrent callers share one token request.
 */
export function accountCredentials(options: AccountCredentialsOptions): Credentials {
  return new AccountCredentials(options);
}

interface Held {
  readonly credential: Credential;
  /** When the token is due for replacement. Monotonic time in milliseconds. */
  readonly until: number;
}

class AccountCredentials implements Credentials {
  readonly #options: AccountCredentialsOptions;
  readonly #closed = new AbortController();
  #held: Held | undefined;
  #asking: Promise<Credential> | undefined;
  #failing = false;

  constructor(options: AccountCredentialsOptions) {
    this.#options = options;
  }

  async current(): Promise<Credential> {
    const held = this.#held;
    return held && this.#options.clock.monotonic() < held.until ? held.credential : this.#replace();
  }

  async refused(credential: Credential): Promise<Credential | undefined> {
    // A concurrent request may have had it replaced already.
    if (this.#held?.credential === credential) this.#held = undefined;
    return this.current();
  }

  #replace(): Promise<Credential> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<Credential> {
    const { clock, account } = this.#options;
    try {
      const held = readToken(await this.#requestToken(), clock);
      this.#held = held;
      this.#failing = false;
      return held.credential;
    } catch (cause) {
      const error = new AccountCredentialsError(account, cause);
      this.#report(error);
      if (!this.#held) throw error;
      this.#held = { ...this.#held, until: clock.monotonic() + limits.accountTokenRetryMs };
      return this.#held.credential;
    }
  }

  /** Logs the first failure until a token is obtained again: controllers retry forever. */
  #report(error: AccountCredentialsError): void {
    if (!this.#failing && !this.#closed.signal.aborted) {
      this.#options.logger.warn('a controller gets no token of its account', { error });
    }
    this.#failing = true;
  }

  async #requestToken(): Promise<unknown> {
    this.#closed.signal.throwIfAborted();
    try {
      return await this.#createToken();
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
      await this.#createAccount();
      return await this.#createToken();
    }
  }

  #createToken(): Promise<unknown> {
    const { client, account, dialect } = this.#options;
    const request = {
      kind: 'TokenRequest',
      apiVersion: `${dialect.group('authentication')}/v1`,
      spec: { expirationSeconds: limits.accountTokenSeconds },
    };
    const path = resourcePath({ resource: 'serviceaccounts', ...account, subresource: 'token' });
    return client.create(path, request, this.#closed.signal);
  }

  async #createAccount(): Promise<void> {
    const { client, account } = this.#options;
    const object = { kind: 'ServiceAccount', apiVersion: 'v1', metadata: account };
    try {
      const path = resourcePath({ resource: 'serviceaccounts', namespace: account.namespace });
      await client.create(path, object, this.#closed.signal);
    } catch (error) {
      // Created concurrently, or it existed and the server issues no tokens; the next token request shows which.
      if (!hasReason(error, 'AlreadyExists')) throw error;
    }
  }

  close(): void {
    this.#closed.abort();
  }
}

/** Reads the issued token. Throws if there is none; messages never contain any of the response. */
function readToken(answer: unknown, clock: Clock): Held {
  const status = isRecord(answer) ? getOwn(answer, 'status') : undefined;
  if (!isRecord(status)) throw new Error('the answer has no status');
  const [token, expiry] = [getOwn(status, 'token'), getOwn(status, 'expirationTimestamp')];
  if (typeof token !== 'string' || !fitsHeader(token))
    throw new Error('the answer has no token that a header can carry');
  const expiresAt = typeof expiry === 'string' ? parseTime(expiry) : undefined;
  if (expiresAt === undefined) throw new Error('the answer does not say when the token expires');
  // Servers issue no shorter lifetimes: if it appears shorter, the clocks differ.
  const lifetimeMs = Math.max(expiresAt - clock.now(), limits.accountTokenMsMin);
  return {
    credential: { authorization: bearer(token) },
    until: clock.monotonic() + lifetimeMs * limits.accountTokenUsedPart,
  };
}
