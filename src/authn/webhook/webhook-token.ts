import type { Caller } from '../../base/caller.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import { retry } from '../../base/time/retry.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { asAuthenticated, type TokenAuthenticator, type TokenIdentity } from '../authenticator.ts';
import { redactToken } from './redact-token.ts';
import { type ReviewStatus, readTokenReview, tokenReview } from './token-review.ts';
import type { WebhookMetrics } from './webhook-metrics.ts';

/** Versions of TokenReview to send to a webhook (`--authentication-token-webhook-version`). */
const tokenReviewVersions = ['v1beta1', 'v1'] as const;
export type TokenReviewVersion = (typeof tokenReviewVersions)[number];

/**
 * Posts a body to the webhook and resolves with its response, whatever the status. Rejects after a timeout or without a
 * response; connection errors carry Node's `code`. Never follows redirects.
 */
export type AskWebhook = (
  body: string,
  caller: Caller,
) => Promise<{ readonly status: number; readonly body: Uint8Array; readonly retryAfterSeconds?: number | undefined }>;

export interface WebhookTokenOptions {
  readonly ask: AskWebhook;
  readonly version: TokenReviewVersion;
  readonly dialect: Dialect;
  /** Audiences of the API server (`--api-audiences`), for webhooks that do not support audiences. */
  readonly ownAudiences: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: WebhookMetrics;
}

/**
 * Authenticates tokens through a webhook (spec section 5.6). Retries if the connection broke or the webhook is
 * overloaded or failed, within `limits.webhookTokenMsMax`. Any other failure is an error of this authenticator alone.
 * Neither errors nor the log contain tokens. Use it behind a cache: every call sends a request.
 */
export function webhookTokenAuthenticator(options: WebhookTokenOptions): TokenAuthenticator {
  const webhook = new TokenWebhook(options);
  return {
    async authenticateToken(token, audiences, caller) {
      return identityOf(await webhook.review(token, audiences, caller), {
        token,
        audiences,
        own: options.ownAudiences,
      });
    },
  };
}

interface Question {
  readonly token: string;
  readonly audiences: readonly string[];
  readonly own: readonly string[];
}

/** Like kube-apiserver: a token for other audiences is unknown, even if the webhook reports an error for it. */
function identityOf(status: ReviewStatus, { token, audiences, own }: Question): TokenIdentity | undefined {
  const asked = new Set(audiences);
  const meant = (status.audiences.length > 0 ? status.audiences : own).filter((each) => asked.has(each));
  if (audiences.length > 0 && meant.length === 0) return undefined;
  if (status.authenticated) return { user: asAuthenticated(status.user), audiences: meant };
  if (status.error === '') return undefined;
  throw new Error(`the token webhook: ${redactToken(status.error.slice(0, limits.webhookErrorLengthMax), token)}`);
}

/** A call without a usable response. */
class AttemptError extends Error {
  /** Minimum delay before a retry in milliseconds; undefined if a retry would not help. */
  readonly againMs: number | undefined;

  constructor(message: string, againMs: number | undefined) {
    super(message);
    this.name = 'AttemptError';
    this.againMs = againMs;
  }
}

const retryAfterMs = (error: unknown): number | undefined =>
  error instanceof AttemptError ? error.againMs : undefined;

class TokenWebhook {
  readonly #options: WebhookTokenOptions;
  readonly #apiVersion: string;
  #failing = false;
  /** Pending reviews, including those waiting between two attempts. */
  #underWay = 0;

  constructor(options: WebhookTokenOptions) {
    this.#options = options;
    this.#apiVersion = `${options.dialect.group('authentication')}/${options.version}`;
  }

  async review(token: string, audiences: readonly string[], caller?: Caller): Promise<ReviewStatus> {
    if (this.#underWay >= limits.webhookQuestionsMax) throw new Error('too many tokens wait for the token webhook');
    const body = tokenReview(this.#apiVersion, token, audiences);
    const { clock, random } = this.#options;
    const until = clock.monotonic() + limits.webhookTokenMsMax;
    const late = new AbortController();
    const timer = clock.after(limits.webhookTokenMsMax, () => late.abort(new Error('it is too slow')));
    const abandon = (): void => late.abort(caller?.signal.reason);
    caller?.signal.addEventListener('abort', abandon);
    this.#underWay += 1;
    try {
      const status = await retry(() => this.#attempt(body, { signal: late.signal, span: caller?.span }), {
        ...{ clock, random, until, retryAfterMs },
        signal: late.signal,
      });
      this.#succeeded();
      return status;
    } catch (error) {
      if (caller?.signal.aborted) throw caller.signal.reason;
      this.#failed(error);
      throw error;
    } finally {
      caller?.signal.removeEventListener('abort', abandon);
      this.#underWay -= 1;
      timer.close();
    }
  }

  async #attempt(body: string, caller: Caller): Promise<ReviewStatus> {
    const answer = await this.#ask(body, caller);
    const { status, retryAfterSeconds = 0 } = answer;
    if (status < 200 || status > 206) {
      const again = isRetryable(status) || retryAfterSeconds > 0;
      throw new AttemptError(`the token webhook answered ${status}`, again ? retryAfterSeconds * 1000 : undefined);
    }
    try {
      return readTokenReview(answer.body, this.#apiVersion);
    } catch (error) {
      throw new AttemptError(`the token webhook: ${messageOf(error)}`, undefined);
    }
  }

  async #ask(body: string, caller: Caller): ReturnType<AskWebhook> {
    const { ask, clock, metrics } = this.#options;
    const start = clock.monotonic();
    const seconds = (): number => (clock.monotonic() - start) / 1000;
    try {
      const answer = await ask(body, caller);
      metrics?.asked(String(answer.status), seconds());
      return answer;
    } catch (error) {
      metrics?.asked('<error>', seconds());
      const again = !caller.signal.aborted && hasCode(error, 'ECONNRESET');
      throw new AttemptError(`the token webhook gave no answer: ${messageOf(error)}`, again ? 0 : undefined);
    }
  }

  /** Logged once per outage; otherwise any client could fill the log. */
  #failed(error: unknown): void {
    if (!this.#failing) this.#options.logger.error('the token webhook fails', { error });
    this.#failing = true;
  }

  #succeeded(): void {
    if (this.#failing) this.#options.logger.info('the token webhook answers again');
    this.#failing = false;
  }
}

/**
 * Statuses that kube-apiserver retries: overload, server errors and gateway timeouts; 503 only with a `Retry-After`.
 */
const isRetryable = (status: number): boolean => status === 429 || (status >= 500 && status !== 503);

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Whether the error or one of its causes has this code. */
function hasCode(error: unknown, code: string): boolean {
  for (let each = error; each instanceof Error; each = each.cause)
    if ('code' in each && each.code === code) return true;
  return false;
}
