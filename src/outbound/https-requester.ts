import type { Closable } from '../base/disposable.ts';
import type { Files } from '../base/files.ts';
import type { Clock } from '../base/time/clock.ts';
import { untilAborted } from '../base/time/until-aborted.ts';
import type { ConnectionConfig } from './connection-config.ts';
import type { Credential, Credentials } from './credentials/credentials.ts';
import { pluginCredentials } from './credentials/plugin-credentials.ts';
import type { PluginHost } from './credentials/plugin-process.ts';
import { storedCredentials } from './credentials/stored-credentials.ts';
import { hideCredential } from './hide-credential.ts';
import { impersonationHeaders } from './impersonation-headers.ts';
import type { Network, OutgoingRequest, OutgoingResponse } from './network.ts';
import { ServerConnections } from './server-connections.ts';
import type { ClientRequest } from './transport.ts';

interface HttpsRequesterOptions {
  readonly connection: ConnectionConfig;
  readonly clock: Clock;
  readonly network: Network;
  /** From which credentials are re-read. */
  readonly files: Files;
  /** Runs the connection's credential plugin, if any. */
  readonly pluginHost: PluginHost;
  /** Overrides the credential and the impersonation of the connection. */
  readonly credentials?: Credentials;
  /** Inactivity timeout in milliseconds; undefined: none. */
  readonly silenceMsMax?: number;
  /** HTTP/2 is spoken if the server offers it. Default: HTTP/1.1 only. */
  readonly http2?: boolean;
}

type HttpsRequest = ClientRequest & Pick<OutgoingRequest, 'repeatable'>;

interface HttpsResponse extends OutgoingResponse {
  /** The header of the request. */
  readonly authorization: string | undefined;
}

/**
 * Sends requests to one server with its credentials, over connections that are kept. A request answered with 401 is
 * sent once more if a different credential is then available. Redirects are returned like other responses: nothing is
 * sent to a server that the connection does not name.
 */
export class HttpsRequester implements Closable {
  readonly #options: HttpsRequesterOptions;
  readonly #credentials: Credentials;
  readonly #connections: ServerConnections;
  readonly #impersonation: Readonly<Record<string, string | string[]>>;

  constructor(options: HttpsRequesterOptions) {
    const { connection, credentials } = options;
    const impersonation = credentials ? undefined : connection.impersonation;
    this.#options = options;
    this.#credentials = credentials ?? credentialsOf(options);
    this.#connections = new ServerConnections(connection, options);
    this.#impersonation = impersonation ? impersonationHeaders(impersonation) : {};
  }

  /** `target` is the whole path and query. Rejects if no response arrives or no credential is available. */
  async send(request: HttpsRequest): Promise<HttpsResponse> {
    const credential = await unlessAborted(this.#credentials.current(), request.signal);
    const response = await this.#sendAs(credential, request);
    if (response.status !== unauthorized) return response;
    const other = await this.#otherThan(credential, response, request.signal);
    if (!other) return response;
    response.discard();
    return this.#sendAs(other, request);
  }

  async #otherThan(
    credential: Credential,
    response: OutgoingResponse,
    signal: AbortSignal | undefined,
  ): Promise<Credential | undefined> {
    try {
      return await unlessAborted(this.#credentials.refused(credential), signal);
    } catch (error) {
      response.discard();
      throw error;
    }
  }

  async #sendAs(credential: Credential, request: HttpsRequest): Promise<HttpsResponse> {
    const { connection, silenceMsMax } = this.#options;
    const { headers, body } = request;
    const { authorization, certificate } = credential;
    request.signal?.throwIfAborted();
    const sent = this.#connections.showing(certificate).send({
      ...request,
      server: connection.server,
      headers: {
        ...this.#impersonation,
        ...headers,
        ...(authorization !== undefined && { authorization }),
        ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
      },
      ...(silenceMsMax !== undefined && { silenceMsMax }),
    });
    const response = await sent.catch((error) => {
      throw withoutCredential(error, authorization);
    });
    return { ...response, authorization };
  }

  /** Also aborts requests in progress. */
  close(): void {
    this.#credentials.close();
    this.#connections.close();
  }
}

function credentialsOf({ connection: { credential }, clock, files, pluginHost }: HttpsRequesterOptions): Credentials {
  return credential.type === 'plugin'
    ? pluginCredentials(credential.plugin, pluginHost, clock)
    : storedCredentials(credential, { clock, files });
}

/** The error of an answer that is not HTTP has its bytes, which may repeat the request. */
function withoutCredential(error: unknown, authorization: string | undefined): unknown {
  if (error instanceof Error && 'rawPacket' in error && Buffer.isBuffer(error.rawPacket)) {
    error.rawPacket = hideCredential(error.rawPacket, authorization);
  }
  return error;
}

const unauthorized = 401;

/** Stops waiting when the signal is aborted; the promise itself continues, since other callers may share it. */
const unlessAborted = <T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
  signal ? untilAborted(promise, signal) : promise;
