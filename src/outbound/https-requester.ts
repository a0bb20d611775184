import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Clock } from '../base/clock.ts';
import type { Closable } from '../base/disposable.ts';
import type { Connection } from './connection.ts';
import type { Credential, Credentials } from './credentials/credentials.ts';
import { pluginCredentials } from './credentials/plugin-credentials.ts';
import type { PluginHost } from './credentials/plugin-process.ts';
import { storedCredentials } from './credentials/stored-credentials.ts';
import { HttpsAgents } from './https-agents.ts';
import { impersonationHeaders } from './impersonation-headers.ts';
import type { ClientRequest } from './transport.ts';

interface HttpsRequesterOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  /** What runs credential plugins, where the connection has one. */
  readonly pluginHost: PluginHost;
  /** Instead of what the connection says of who sends the requests; whom it impersonates does not count either. */
  readonly credentials?: Credentials;
  /** Silence after which a request counts as broken; undefined: never. Milliseconds. */
  readonly silenceMsMax?: number;
}

interface HttpsRequest extends ClientRequest {
  /**
   * It changes nothing at the server, so that it can be sent again where a kept connection turns out to be closed: whether
   * the server has seen it cannot be known then.
   */
  readonly repeatable: boolean;
}

/**
 * Sends requests to one server, over HTTP/1.1 and connections that are kept, with what says who sends them. A request
 * that is answered with 401 is sent once more where there is another credential then. Redirects are answers like others:
 * nothing is sent to a place that the connection does not name.
 */
export class HttpsRequester implements Closable {
  readonly #options: HttpsRequesterOptions;
  readonly #credentials: Credentials;
  readonly #agents: HttpsAgents;
  readonly #impersonation: Readonly<Record<string, string | string[]>>;

  constructor(options: HttpsRequesterOptions) {
    const { connection, clock, credentials } = options;
    const impersonation = credentials ? undefined : connection.impersonation;
    this.#options = options;
    this.#credentials = credentials ?? credentialsOf(options);
    this.#agents = new HttpsAgents(connection, clock);
    this.#impersonation = impersonation ? impersonationHeaders(impersonation) : {};
  }

  /** `target` is the whole path and query. Rejects when no answer came, or when there is no credential to send. */
  async send(request: HttpsRequest): Promise<IncomingMessage> {
    const credential = await unlessAborted(this.#credentials.current(), request.signal);
    const response = await this.#sendAs(credential, request);
    if (response.statusCode !== unauthorized) return response;
    const other = await this.#otherThan(credential, response, request.signal);
    if (!other) return response;
    response.destroy();
    return this.#sendAs(other, request);
  }

  async #otherThan(
    credential: Credential,
    response: IncomingMessage,
    signal: AbortSignal | undefined,
  ): Promise<Credential | undefined> {
    try {
      return await unlessAborted(this.#credentials.refused(credential), signal);
    } catch (error) {
      response.destroy();
      throw error;
    }
  }

  async #sendAs(credential: Credential, request: HttpsRequest): Promise<IncomingMessage> {
    for (let attempts = 1; ; attempts++) {
      const sent = this.#start(credential, request);
      try {
        return await answerTo(sent);
      } catch (error) {
        if (!request.repeatable || !isStale(sent, error) || attempts === attemptsMax) throw error;
      }
    }
  }

  #start(credential: Credential, { method, target, headers, body, signal }: HttpsRequest) {
    signal?.throwIfAborted();
    const { connection, silenceMsMax } = this.#options;
    const { hostname, port } = connection.server;
    const { authorization, certificate } = credential;
    const sent = https.request({
      agent: this.#agents.showing(certificate),
      // Brackets around IPv6 addresses belong to URLs.
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
      method,
      path: target,
      headers: {
        ...this.#impersonation,
        ...headers,
        ...(authorization !== undefined && { authorization }),
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      },
      ...(signal && { signal }),
    });
    if (silenceMsMax !== undefined) {
      sent.setTimeout(silenceMsMax, () => sent.destroy(new Error(`the server was silent for ${silenceMsMax} ms`)));
    }
    sent.end(body);
    return sent;
  }

  /** Ends what is under way, too. */
  close(): void {
    this.#credentials.close();
    this.#agents.close();
  }
}

function credentialsOf({ connection: { credential }, clock, pluginHost }: HttpsRequesterOptions): Credentials {
  return credential.type === 'plugin'
    ? pluginCredentials(credential.plugin, pluginHost, clock)
    : storedCredentials(credential, clock);
}

const unauthorized = 401;
/** A pool can hold several connections that the server has closed. */
const attemptsMax = 3;

type SentRequest = ReturnType<typeof https.request>;

function answerTo(sent: SentRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sent.on('response', resolve);
  sent.on('error', reject);
  return promise;
}

/** The server closed a kept connection just as the request went out on it. */
const isStale = (sent: SentRequest, error: unknown): boolean =>
  sent.reusedSocket && error instanceof Error && 'code' in error && staleCodes.includes(String(error.code));
const staleCodes: readonly string[] = ['ECONNRESET', 'EPIPE'];

/** The wait ends when the signal aborts; what is waited for goes on, since others may wait for it too. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
