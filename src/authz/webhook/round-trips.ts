import type { Caller } from '../../base/caller.ts';
import { limits } from '../../base/limits.ts';
import type { Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import { retry } from '../../base/time/retry.ts';
import type { AuthorizationMetrics, RoundTrip } from '../authorization-metrics.ts';

/** An HTTP response of a webhook. */
export interface WebhookResponse {
  readonly status: number;
  readonly body: Uint8Array;
  /** From the header `Retry-After`, if present; the request is then retried. */
  readonly retryAfterSeconds?: number | undefined;
}

/**
 * Sends JSON to the webhook's URL by POST and returns the response, whatever its status. Follows no redirects and limits the
 * size of the response body. Rejects when the caller's signal aborts.
 */
export type WebhookSend = (body: string, caller: Caller) => Promise<WebhookResponse>;

/** The webhook returned no usable response. `cause` is for the log. */
export class WebhookFailure extends Error {
  readonly result: Exclude<RoundTrip, 'success'>;
  /** True if the error may be temporary and the call should be retried. */
  readonly retryable: boolean;

  constructor(
    problem: string,
    {
      result = 'error',
      retryable = false,
      ...options
    }: ErrorOptions & Partial<Pick<WebhookFailure, 'result' | 'retryable'>> = {},
  ) {
    super(problem, options);
    this.name = 'WebhookFailure';
    this.result = result;
    this.retryable = retryable;
  }
}

interface RoundTripsOptions {
  /** Name of the webhook, for metrics. */
  readonly name: string;
  readonly send: WebhookSend;
  /** Timeout of one round trip, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Pick<AuthorizationMetrics, 'roundTrip'>;
}

/**
 * Calls a webhook. Retries with growing pauses after broken connections, status 429, 500 or 504, and any error status with
 * `Retry-After`: at most `limits.webhookAttemptsMax` attempts within `limits.requestMsMax`. Does not retry after a timeout.
 * `read` parses the response body and throws if it is invalid. Rejects with a WebhookFailure.
 */
export async function callWebhook<T>(
  options: RoundTripsOptions,
  body: string,
  read: (body: Uint8Array) => T,
  caller: Caller,
): Promise<T> {
  const { clock, random } = options;
  const until = clock.monotonic() + limits.requestMsMax;
  return retry(() => roundTrip(options, body, read, caller), {
    ...{ clock, random, until, retryAfterMs },
    signal: caller.signal,
  });
}

const retryAfterMs = (error: unknown): number | undefined =>
  error instanceof WebhookFailure && error.retryable ? 0 : undefined;

/** One attempt, with metrics. */
async function roundTrip<T>(
  options: RoundTripsOptions,
  body: string,
  read: (body: Uint8Array) => T,
  caller: Caller,
): Promise<T> {
  const { name, clock, metrics } = options;
  const start = clock.monotonic();
  const count = (result: RoundTrip): void => metrics.roundTrip(name, result, (clock.monotonic() - start) / 1000);
  try {
    const answer = readResponse(await sendWithTimeout(options, body, caller), read);
    count('success');
    return answer;
  } catch (error) {
    const failure =
      error instanceof WebhookFailure
        ? error
        : new WebhookFailure('the request to it failed', { cause: error, retryable: isBrokenConnection(error) });
    count(failure.result);
    throw failure;
  }
}

function readResponse<T>({ status, body, retryAfterSeconds }: WebhookResponse, read: (body: Uint8Array) => T): T {
  if (status < 200 || status > 206) {
    const retryable = passingStatuses.has(status) || retryAfterSeconds !== undefined;
    const result = status === gatewayTimeout ? 'timeout' : 'error';
    throw new WebhookFailure(`it answered with status ${status}`, { result, retryable });
  }
  try {
    return read(body);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new WebhookFailure(`its answer cannot be used: ${problem}`, { cause: error });
  }
}

const gatewayTimeout = 504;
const passingStatuses: ReadonlySet<number> = new Set([429, 500, gatewayTimeout]);

/** Rejects at the timeout even if `send` does not. */
async function sendWithTimeout(
  { send, clock, timeoutMs }: RoundTripsOptions,
  body: string,
  { signal, span }: Caller,
): Promise<WebhookResponse> {
  const late = new AbortController();
  const over = Promise.withResolvers<never>();
  const stop = (failure: WebhookFailure): void => {
    over.reject(failure);
    late.abort(failure);
  };
  const timer = clock.after(timeoutMs, () =>
    stop(new WebhookFailure('it did not answer in time', { result: 'timeout' })),
  );
  const onAbort = (): void =>
    stop(new WebhookFailure('it is not waited for', { result: 'canceled', cause: signal.reason }));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([over.promise, send(body, { signal: late.signal, span })]);
  } catch (error) {
    throw isTimeout(error)
      ? new WebhookFailure('it did not answer in time', { result: 'timeout', cause: error })
      : error;
  } finally {
    timer.close();
    signal.removeEventListener('abort', onAbort);
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

const isTimeout = (error: unknown): boolean =>
  codeOf(error) === 'ETIMEDOUT' || (error instanceof Error && error.name === 'TimeoutError');

const brokenConnectionCodes: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'ERR_HTTP2_GOAWAY_SESSION']);

/** The connection broke while in use; a new one may work. */
const isBrokenConnection = (error: unknown): boolean => brokenConnectionCodes.has(codeOf(error));
