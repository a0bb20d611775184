import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { bearer, type Credential, type Credentials } from '../outbound/credentials/credentials.ts';
import { fitsHeader } from '../outbound/header-encoding.ts';
import { getOwn, isRecord } from '../schema/own-property.ts';
import { parseTime } from '../schema/time.ts';
import { type ApiClient, hasReason } from './api-client.ts';

interface AccountCredentialsOptions {
  /** Asks for the tokens: may create service accounts, and tokens of them. */
  readonly client: ApiClient;
  readonly account: { readonly namespace: string; readonly name: string };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dialect: Dialect;
}

/**
 * There is no token of a service account. It is not an ApiError, whatever its cause: that something was not found, say,
 * is no answer to the request that was to go with the token.
 */
export class AccountCredentialsError extends Error {
  constructor({ namespace, name }: AccountCredentialsOptions['account'], cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`no token of the service account ${namespace}/${name}: ${why}`, { cause });
    this.name = 'AccountCredentialsError';
  }
}

/**
 * Tokens of a service account by TokenRequest (spec section 5.3), kept in memory only. The account is made where there is
 * none. A token is replaced once the most of its time is over, and when the server refuses it; one that cannot be
 * replaced yet is used on. Whoever needs a new one while it is asked for waits for the same answer.
 */
export function accountCredentials(options: AccountCredentialsOptions): Credentials {
  return new AccountCredentials(options);
}

interface Held {
  readonly credential: Credential;
  /** Monotonic milliseconds, from which on it is to be replaced. */
  readonly until: number;
}

class AccountCredentials implements Credentials {
  readonly #options: AccountCredentialsOptions;
  readonly #path: string;
  readonly #closed = new AbortController();
  #held: Held | undefined;
  #asking: Promise<Credential> | undefined;
  #failing = false;

  constructor(options: AccountCredentialsOptions) {
    this.#options = options;
    this.#path = `/api/v1/namespaces/${encodeURIComponent(options.account.namespace)}/serviceaccounts`;
  }

  async current(): Promise<Credential> {
    const held = this.#held;
    return held && this.#options.clock.monotonic() < held.until ? held.credential : this.#replace();
  }

  async refused(credential: Credential): Promise<Credential | undefined> {
    // Others may have been refused before, and have had it replaced.
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

  /** Once, until there is a token again: controllers try without end. */
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
    return client.create(`${this.#path}/${encodeURIComponent(account.name)}/token`, request, this.#closed.signal);
  }

  async #createAccount(): Promise<void> {
    const { client, account } = this.#options;
    const object = { kind: 'ServiceAccount', apiVersion: 'v1', metadata: account };
    try {
      await client.create(this.#path, object, this.#closed.signal);
    } catch (error) {
      // Somebody else made it, or it was there and the server gives no tokens: the next answer tells.
      if (!hasReason(error, 'AlreadyExists')) throw error;
    }
  }

  close(): void {
    this.#closed.abort();
  }
}

/** What the server issued. Throws where the answer has none; the message never shows any of it. */
function readToken(answer: unknown, clock: Clock): Held {
  const status = isRecord(answer) ? getOwn(answer, 'status') : undefined;
  if (!isRecord(status)) throw new Error('the answer has no status');
  const [token, expiry] = [getOwn(status, 'token'), getOwn(status, 'expirationTimestamp')];
  if (typeof token !== 'string' || !fitsHeader(token))
    throw new Error('the answer has no token that a header can carry');
  const expiresAt = typeof expiry === 'string' ? parseTime(expiry) : undefined;
  if (expiresAt === undefined) throw new Error('the answer does not say when the token expires');
  // Servers issue no shorter ones: where there seems to be less time the clocks differ.
  const lifetimeMs = Math.max(expiresAt - clock.now(), limits.accountTokenMsMin);
  return {
    credential: { authorization: bearer(token) },
    until: clock.monotonic() + lifetimeMs * limits.accountTokenUsedPart,
  };
}
