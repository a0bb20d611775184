import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Clock } from '../base/clock.ts';
import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { Connection, Credential } from './kubeconfig.ts';
import type { ClientRequest, ClientResponse, Transport } from './transport.ts';

export interface HttpTransportOptions extends Connection {
  readonly clock: Clock;
  /** Silence after which a response counts as broken. Milliseconds. */
  readonly silenceMsMax?: number;
}

/**
 * Requests over HTTPS, HTTP/1.1, on connections that are kept. Redirects are answers like others: nothing is sent to a
 * place that the connection does not name.
 */
export function httpTransport(options: HttpTransportOptions): Transport & Closable {
  return new HttpTransport(options);
}

class HttpTransport implements Transport, Closable {
  readonly #options: HttpTransportOptions;
  readonly #agent: https.Agent;
  readonly #root: string;
  readonly #authorization: () => Promise<string | undefined>;

  constructor(options: HttpTransportOptions) {
    const { server, authorities, serverName, insecure, credential } = options;
    this.#options = options;
    this.#root = server.pathname.replace(/\/$/, '');
    this.#authorization = authorizationOf(credential, options.clock);
    this.#agent = new https.Agent({
      keepAlive: true,
      rejectUnauthorized: !insecure,
      ...(authorities !== undefined && { ca: authorities }),
      ...(serverName !== undefined && { servername: serverName }),
      ...(credential.type === 'certificate' && { cert: credential.certificate, key: credential.key }),
    });
  }

  async send(request: ClientRequest): Promise<ClientResponse> {
    const authorization = await this.#authorization();
    request.signal?.throwIfAborted();
    const headers = {
      ...request.headers,
      ...(authorization !== undefined && { authorization }),
      ...(request.body !== undefined && { 'content-length': Buffer.byteLength(request.body) }),
    };
    const response = await this.#exchange(request, headers);
    return { status: response.statusCode ?? 0, body: response };
  }

  #exchange(
    { method, target, body, signal }: ClientRequest,
    headers: Readonly<Record<string, string | number>>,
  ): Promise<IncomingMessage> {
    const { server, silenceMsMax = limits.clientSilenceMsMax } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const { hostname, port } = server;
    const sent = https.request({
      agent: this.#agent,
      // Brackets around IPv6 addresses belong to URLs.
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
      method,
      path: this.#root + target,
      headers,
      ...(signal && { signal }),
    });
    sent.setTimeout(silenceMsMax, () => sent.destroy(new Error(`the server was silent for ${silenceMsMax} ms`)));
    sent.on('response', resolve);
    sent.on('error', reject);
    sent.end(body);
    return promise;
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** How long a token that was read from a file is used before the file is read again. Milliseconds. */
const tokenFileMs = 60_000;

function authorizationOf(credential: Credential, clock: Clock): () => Promise<string | undefined> {
  switch (credential.type) {
    case 'token':
      return async () => `Bearer ${credential.token}`;
    case 'tokenFile':
      return tokenFromFile(credential.file, clock);
    case 'certificate':
    case 'none':
      return async () => undefined;
  }
}

function tokenFromFile(file: string, clock: Clock): () => Promise<string> {
  let known: { readonly token: string; readonly until: number } | undefined;
  return async () => {
    const now = clock.monotonic();
    if (!known || now >= known.until) {
      known = { token: (await readFile(file, 'utf8')).trim(), until: now + tokenFileMs };
    }
    return `Bearer ${known.token}`;
  };
}
