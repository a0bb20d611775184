import type { Caller } from '../base/caller.ts';
import type { Closable } from '../base/disposable.ts';
import type { Files } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import { Semaphore } from '../base/semaphore.ts';
import { type Span, spanning } from '../base/span.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ConnectionConfig } from './connection-config.ts';
import type { PluginHost } from './credentials/plugin-process.ts';
import type { Answered } from './describe-answer.ts';
import { UnreadBody } from './describe-failure.ts';
import { hideCredential } from './hide-credential.ts';
import { HttpsRequester } from './https-requester.ts';
import type { Network, OutgoingRequest, OutgoingResponse } from './network.ts';

interface WebhookSenderOptions {
  readonly clock: Clock;
  readonly network: Network;
  readonly files: Files;
  readonly pluginHost: PluginHost;
  /** Timeout of a call, including queueing and reading the response. */
  readonly timeoutMs: number;
  readonly userAgent: string;
  /** Bytes of an answer. Default: `limits.webhookAnswerBytesMax`. */
  readonly answerBytesMax?: number;
  /** Calls that may wait. Default: `limits.webhookQuestionsMax`. */
  readonly questionsMax?: number;
}

interface WebhookAnswer extends Answered {
  /** Value of Retry-After in seconds, if given (RFC 9110 section 10.2.3). */
  readonly retryAfterSeconds: number | undefined;
}

/** What differs between calls over the same connections. */
interface WebhookCall {
  /** Path and query. Default: those of the connection. */
  readonly target?: string;
  /** Default: that of the options. */
  readonly timeoutMs?: number;
}

export interface WebhookSender extends Closable {
  /**
   * Calls the webhook. Rejects on a timeout, on a response that is too large, and on a redirect, which is never
   * followed: the request and its credential are for the webhook only. Retries only if the webhook had closed a kept
   * connection or a 401 led to a different credential. A traced caller's trace goes on in the call.
   */
  readonly send: (body: string | Uint8Array, caller?: Caller, call?: WebhookCall) => Promise<WebhookAnswer>;
}

/** POSTs JSON to exactly the URL of a connection. Requests have no side effects, so they can be repeated. */
export function webhookSender(connection: ConnectionConfig, options: WebhookSenderOptions): WebhookSender {
  const sender = new Sender(connection, options);
  return { send: (body, caller, call) => sender.send(body, caller, call), close: () => sender.close() };
}

type Question = Pick<OutgoingRequest, 'target' | 'signal'> & {
  readonly body: string | Uint8Array;
  readonly signal: AbortSignal;
};

class Sender implements Closable {
  readonly #options: WebhookSenderOptions;
  readonly #requester: HttpsRequester;
  readonly #server: URL;
  readonly #target: string;
  readonly #connections = new Semaphore(limits.webhookConnectionsMax);
  /** Abort controllers of all calls that are waiting or in progress. */
  readonly #questions = new Set<AbortController>();

  constructor(connection: ConnectionConfig, options: WebhookSenderOptions) {
    const { clock, network, files, pluginHost } = options;
    this.#options = options;
    this.#server = connection.server;
    this.#target = connection.server.pathname + connection.server.search;
    this.#requester = new HttpsRequester({ connection, clock, network, files, pluginHost, http2: true });
  }

  async send(body: string | Uint8Array, caller?: Caller, call: WebhookCall = {}): Promise<WebhookAnswer> {
    const signal = caller?.signal;
    signal?.throwIfAborted();
    const { clock, questionsMax = limits.webhookQuestionsMax } = this.#options;
    const { timeoutMs = this.#options.timeoutMs, target = this.#target } = call;
    if (this.#questions.size >= questionsMax) throw new Error('too many questions wait for the webhook');
    const stop = new AbortController();
    const timer = clock.after(timeoutMs, () => stop.abort(new Error('context deadline exceeded')));
    const abort = (): void => stop.abort(signal?.reason);
    signal?.addEventListener('abort', abort);
    this.#questions.add(stop);
    try {
      return await this.#inTurn({ body, target, signal: stop.signal }, caller?.span);
    } catch (error) {
      throw stop.signal.aborted ? stop.signal.reason : error;
    } finally {
      this.#questions.delete(stop);
      signal?.removeEventListener('abort', abort);
      timer.close();
    }
  }

  async #inTurn(question: Question, span: Span | undefined): Promise<WebhookAnswer> {
    await this.#connections.acquire(question.signal);
    try {
      return await (span ? this.#askWithin(span, question) : this.#ask(question));
    } finally {
      this.#connections.release();
    }
  }

  /** The span has no path: that of a webhook may hold a secret. */
  #askWithin(span: Span, question: Question): Promise<WebhookAnswer> {
    const { hostname, port, protocol } = this.#server;
    const ofScheme = protocol === 'http:' ? httpPort : httpsPort;
    const peer = { 'net.peer.name': hostname, 'net.peer.port': Number(port === '' ? ofScheme : port) };
    const call = span.child('HTTP POST', { 'http.method': 'POST', ...peer }, 'client');
    return spanning(call, async () => {
      try {
        const answer = await this.#ask(question, call.headers);
        call.set({ 'http.status_code': answer.status });
        if (answer.status >= 400) call.fail();
        return answer;
      } catch (error) {
        call.fail();
        throw error;
      }
    });
  }

  async #ask(question: Question, headers: Readonly<Record<string, string>> = {}): Promise<WebhookAnswer> {
    const response = await this.#requester.send({
      ...question,
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        'user-agent': this.#options.userAgent,
        ...headers,
      },
      repeatable: true,
    });
    const { status } = response;
    const { answerBytesMax = limits.webhookAnswerBytesMax } = this.#options;
    if (isRedirect(status)) {
      response.discard();
      throw new Error(`the webhook answered ${status}, a redirect, which is not followed`);
    }
    const answer = await readAll(response.body, answerBytesMax);
    const shown = status >= 400 ? hideCredential(answer, response.authorization) : answer;
    const type = response.headers['content-type'];
    const contentType = typeof type === 'string' ? type : undefined;
    return { status, body: shown, contentType, retryAfterSeconds: retryAfter(response) };
  }

  close(): void {
    for (const stop of this.#questions) stop.abort(new Error('the webhook is not asked any more'));
    this.#requester.close();
  }
}

const httpPort = 80;
const httpsPort = 443;

const isRedirect = (status: number): boolean => status >= 300 && status < 400;

async function readAll(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const tooLarge = new Error(`the webhook's answer has more than ${bytesMax} bytes`);
  try {
    // Leaving the loop aborts the response.
    for await (const chunk of body) {
      size += chunk.length;
      if (size > bytesMax) throw tooLarge;
      chunks.push(chunk);
    }
  } catch (error) {
    throw error === tooLarge ? error : new UnreadBody(error);
  }
  return Buffer.concat(chunks);
}

function retryAfter({ headers }: OutgoingResponse): number | undefined {
  const text = headers['retry-after'];
  return typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
