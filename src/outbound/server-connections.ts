import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ConnectionConfig, KeyPairPem } from './connection-config.ts';
import { sameKeyPair } from './credentials/key-pair.ts';
import type { ConnectOptions, HttpsConnections, Network } from './network.ts';

interface ServerConnectionsOptions {
  readonly clock: Clock;
  readonly network: Network;
  /** HTTP/2 is spoken if the server offers it. Default: HTTP/1.1 only. */
  readonly http2?: boolean;
}

/**
 * Connections to one server. A client certificate is presented per connection, so new connections are opened when it
 * changes; the old ones may finish their requests for a while and are then closed (spec section 5.6).
 */
export class ServerConnections implements Closable {
  readonly #connection: ConnectionConfig;
  readonly #clock: Clock;
  readonly #network: Network;
  readonly #http2: boolean;
  #current: HttpsConnections | undefined;
  #shown: KeyPairPem | undefined;
  readonly #retired = new Map<HttpsConnections, Closable>();
  #closed = false;

  constructor(connection: ConnectionConfig, { clock, network, http2 = false }: ServerConnectionsOptions) {
    this.#http2 = http2;
    this.#connection = connection;
    this.#clock = clock;
    this.#network = network;
  }

  /** The connections that present this certificate. Throws after `close`. */
  showing(certificate: KeyPairPem | undefined): HttpsConnections {
    if (this.#closed) throw new Error('the client has been closed');
    if (this.#current && sameKeyPair(certificate, this.#shown)) return this.#current;
    if (this.#current) this.#retire(this.#current);
    this.#shown = certificate;
    this.#current = this.#network.connect(this.#optionsFor(certificate));
    return this.#current;
  }

  #optionsFor(certificate: KeyPairPem | undefined): ConnectOptions {
    const { server, authorities, serverName, insecure } = this.#connection;
    if (server.protocol === 'http:') return { keepAlive: true, plain: true };
    return {
      keepAlive: true,
      http2: this.#http2,
      insecure,
      ...(authorities !== undefined && { authorities }),
      ...(serverName !== undefined && { serverName }),
      ...(certificate && { certificate }),
    };
  }

  #retire(connections: HttpsConnections): void {
    connections.retire();
    const timer = this.#clock.after(limits.retiredConnectionsMs, () => {
      this.#retired.delete(connections);
      connections.close();
    });
    this.#retired.set(connections, timer);
  }

  close(): void {
    this.#closed = true;
    this.#current?.close();
    for (const [connections, timer] of this.#retired) {
      timer.close();
      connections.close();
    }
    this.#retired.clear();
  }
}
