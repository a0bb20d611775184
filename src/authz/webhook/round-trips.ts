import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Random } from '../../base/random.ts';
import { retry } from '../../base/retry.ts';
import type { AuthorizationMetrics, RoundTrip } from '../authorization-metrics.ts';

/** What a webhook answered. */
export interface WebhookResponse {
  readonly status: number;
  readonly body: Uint8Array;
  /** From the header `Retry-After`, where there is one: to be asked again is what the webhook wants. */
  readonly retryAfterSeconds?: number | undefined;
}

/**
 * Sends a JSON text to the one address of a webhook by POST, and gives its answer, whatever its status. Follows no
 * redirect, and reads no more than a bounded body. Ends, by rejecting, when the signal aborts.
 */
export type WebhookSend = (body: string, signal: AbortSignal) => Promise<WebhookResponse>;

/** A webhook gave no answer that can be used. `cause` is what happened, for the log. */
export class WebhookFailure extends Error {
  readonly result: Exclude<RoundTrip, 'success'>;
  /** It may pass: the webhook is worth asking again. */
  readonly again: boolean;

  constructor(
    problem: string,
    {
      result = 'error',
      again = false,
      ...options
    }: ErrorOptions & Partial<Pick<WebhookFailure, 'result' | 'again'>> = {},
  ) {
    super(problem, options);
    this.name = 'WebhookFailure';
    this.result = result;
    this.again = again;
  }
}

interface RoundTripsOptions {
  /** Of the webhook, for metrics. */
  readonly name: string;
  readonly send: WebhookSend;
  /** What one round trip may take. Milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Pick<AuthorizationMetrics, 'roundTrip'>;
}

/**
 * Asks a webhook, and asks again after what may pass: connections that break, and the statuses 429, 500, 504 and any with
 * `Retry-After`; at most `limits.webhookAttemptsMax` times, with pauses that grow, and not once a request has waited as long
 * as requests may. A webhook that lets a round trip's time pass is not asked again. `read` makes of a body what it says, and
 * throws where it says nothing. Rejects with a WebhookFailure.
 */
export async function askWebhook<T>(
  options: RoundTripsOptions,
  body: string,
  read: (body: Uint8Array) => T,
  signal: AbortSignal,
): Promise<T> {
  const { clock, random } = options;
  const until = clock.monotonic() + limits.requestMsMax;
  return retry(() => roundTrip(options, body, read, signal), { clock, random, until, mayPass, signal });
}

const mayPass = (error: unknown): number | undefined =>
  error instanceof WebhookFailure && error.again ? 0 : undefined;

/** One attempt, counted. */
async function roundTrip<T>(
  options: RoundTripsOptions,
  body: string,
  read: (body: Uint8Array) => T,
  signal: AbortSignal,
): Promise<T> {
  const { name, clock, metrics } = options;
  const start = clock.monotonic();
  const count = (result: RoundTrip): void => metrics.roundTrip(name, result, (clock.monotonic() - start) / 1000);
  try {
    const answer = readResponse(await inTime(options, body, signal), read);
    count('success');
    return answer;
  } catch (error) {
    const failure =
      error instanceof WebhookFailure
        ? error
        : new WebhookFailure('the request to it failed', { cause: error, again: isBrokenConnection(error) });
    count(failure.result);
    throw failure;
  }
}

function readResponse<T>({ status, body, retryAfterSeconds }: WebhookResponse, read: (body: Uint8Array) => T): T {
  if (status < 200 || status > 206) {
    const again = passingStatuses.has(status) || retryAfterSeconds !== undefined;
    const result = status === gatewayTimeout ? 'timeout' : 'error';
    throw new WebhookFailure(`it answered with status ${status}`, { result, again });
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

/** Rejects when the time is over even where `send` goes on. */
async function inTime(
  { send, clock, timeoutMs }: RoundTripsOptions,
  body: string,
  signal: AbortSignal,
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
    return await Promise.race([over.promise, send(body, late.signal)]);
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

/** The connection broke while it was used: the next one may hold. */
const isBrokenConnection = (error: unknown): boolean => brokenConnectionCodes.has(codeOf(error));
