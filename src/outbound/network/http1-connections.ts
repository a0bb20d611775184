import http from 'node:http';
import https from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { ConnectOptions, HttpsConnections, OutgoingRequest, OutgoingResponse } from '../network.ts';
import { hostOf, tlsOptions } from './client-tls.ts';

/** A pool can hold several connections that the server has closed. */
const attemptsMax = 3;

/** A pool of HTTP/1.1 connections. */
export class Http1Connections implements HttpsConnections {
  readonly #options: ConnectOptions;
  #agent: OfferedAgent | http.Agent | undefined;

  constructor(options: ConnectOptions) {
    this.#options = options;
  }

  async send(request: OutgoingRequest): Promise<OutgoingResponse> {
    for (let attempts = 1; ; attempts++) {
      request.signal?.throwIfAborted();
      const sent = this.#start(request);
      try {
        return await responseTo(sent);
      } catch (error) {
        if (!request.repeatable || !isStale(sent, error) || attempts === attemptsMax) throw error;
      }
    }
  }

  #start({ server, method, target, headers, body, signal, silenceMsMax }: OutgoingRequest): SentRequest {
    const sent = (this.#options.plain ? http : https).request({
      agent: this.#pool,
      hostname: hostOf(server),
      port: server.port,
      method,
      path: target,
      headers,
      ...(signal && { signal }),
    });
    if (silenceMsMax !== undefined) {
      sent.setTimeout(silenceMsMax, () => sent.destroy(new Error(`the server was silent for ${silenceMsMax} ms`)));
    }
    sent.end(body);
    return sent;
  }

  /** Takes an open connection, which the next request uses. */
  offer(socket: TLSSocket): void {
    const pool = this.#pool;
    if (pool instanceof OfferedAgent) pool.offer(socket);
  }

  get #pool(): OfferedAgent | http.Agent {
    const { keepAlive, plain } = this.#options;
    this.#agent ??= plain
      ? new http.Agent({ keepAlive })
      : new OfferedAgent({ keepAlive, ...tlsOptions(this.#options) });
    return this.#agent;
  }

  retire(): void {
    if (!this.#agent) return;
    // Busy connections are closed when they become free.
    this.#agent.maxFreeSockets = 0;
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy();
    dropOffered(this.#agent);
  }

  close(): void {
    this.#agent?.destroy();
    dropOffered(this.#agent);
  }
}

/** Opens connections, unless there is one that was opened elsewhere. */
class OfferedAgent extends https.Agent {
  readonly #offered: TLSSocket[] = [];

  offer(socket: TLSSocket): void {
    this.#offered.push(socket);
  }

  override createConnection(...options: Parameters<https.Agent['createConnection']>) {
    const offered = this.#offered.pop();
    return offered && !offered.destroyed ? offered : super.createConnection(...options);
  }

  dropOffered(): void {
    for (const socket of this.#offered.splice(0)) socket.destroy();
  }
}

const dropOffered = (agent: http.Agent | undefined): void => {
  if (agent instanceof OfferedAgent) agent.dropOffered();
};

type SentRequest = http.ClientRequest;

function responseTo(sent: SentRequest): Promise<OutgoingResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<OutgoingResponse>();
  sent.on('response', (response) => {
    const { statusCode: status = 0, headers } = response;
    resolve({ status, headers, body: response, discard: () => void response.destroy() });
  });
  sent.on('error', reject);
  return promise;
}

/** The server closed a kept connection just as the request was sent on it. */
const isStale = (sent: SentRequest, error: unknown): boolean =>
  sent.reusedSocket && error instanceof Error && 'code' in error && staleCodes.includes(String(error.code));
const staleCodes: readonly string[] = ['ECONNRESET', 'EPIPE'];
