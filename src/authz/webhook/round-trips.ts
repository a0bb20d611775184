import { type Clock, pause } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Random } from '../../base/random.ts';
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

  constructor(problem: string, result: WebhookFailure['result'], cause?: unknown) {
    super(problem, cause === undefined ? undefined : { cause });
    this.name = 'WebhookFailure';
    this.result = result;
  }
}

export interface RoundTripsOptions {
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
  const givingUp = clock.monotonic() + limits.requestMsMax;
  let pauseMs: number = limits.webhookRetryMs;
  for (let attempt = 1; ; attempt++) {
    const { answer, failure, again } = await roundTrip(options, body, read, signal);
    if (!failure) return answer;
    if (!again || attempt === limits.webhookAttemptsMax) throw failure;
    await pause(clock, pauseMs * (1 + jitter(random)), signal);
    if (signal.aborted || clock.monotonic() >= givingUp) throw failure;
    pauseMs *= pauseGrowth;
  }
}

const pauseGrowth = 1.5;

/** Up to a fifth, so that servers which fail together do not come back together. */
const jitter = (random: Random): number => ((random.bytes(1)[0] ?? 0) / 256) * 0.2;

type Outcome<T> =
  | { readonly answer: T; readonly failure?: undefined; readonly again: false }
  | { readonly answer?: undefined; readonly failure: WebhookFailure; readonly again: boolean };

async function roundTrip<T>(
  options: RoundTripsOptions,
  body: string,
  read: (body: Uint8Array) => T,
  signal: AbortSignal,
): Promise<Outcome<T>> {
  const { name, clock, metrics } = options;
  const start = clock.monotonic();
  const outcome = await attempt(options, body, read, signal);
  metrics.roundTrip(name, outcome.failure?.result ?? 'success', (clock.monotonic() - start) / 1000);
  return outcome;
}

async function attempt<T>(
  options: RoundTripsOptions,
  body: string,
  read: (body: Uint8Array) => T,
  signal: AbortSignal,
): Promise<Outcome<T>> {
  let response: WebhookResponse;
  try {
    response = await inTime(options, body, signal);
  } catch (error) {
    const failure =
      error instanceof WebhookFailure ? error : new WebhookFailure('the request to it failed', 'error', error);
    return { failure, again: isBrokenConnection(error) };
  }
  const { status, retryAfterSeconds } = response;
  if (status < 200 || status > 206) {
    const result = status === gatewayTimeout ? 'timeout' : 'error';
    const again = passingStatuses.has(status) || retryAfterSeconds !== undefined;
    return { failure: new WebhookFailure(`it answered with status ${status}`, result), again };
  }
  try {
    return { answer: read(response.body), again: false };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { failure: new WebhookFailure(`its answer cannot be used: ${problem}`, 'error', error), again: false };
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
  const timer = clock.after(timeoutMs, () => stop(new WebhookFailure('it did not answer in time', 'timeout')));
  const onAbort = (): void => stop(new WebhookFailure('the server stops', 'error'));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([over.promise, send(body, late.signal)]);
  } catch (error) {
    throw isTimeout(error) ? new WebhookFailure('it did not answer in time', 'timeout', error) : error;
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
