import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { systemFiles } from '../base/files.ts';
import { systemRandom } from '../base/random.ts';
import { systemClock } from '../base/time/clock.ts';
import { once } from '../base/waits-fixture.ts';
import { ensureAuthority, ensureIssued } from '../pki/ca.ts';
import type { ConnectionConfig, KeyPairPem } from './connection-config.ts';
import type { PluginHost } from './credentials/plugin-process.ts';
import { systemNetwork } from './network/system-network.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

type Protocol = 'http/1.1' | 'h2';

interface TlsFixtureOptions {
  /** What it offers, if clients ask (ALPN). Default: HTTP/1.1. */
  readonly protocols?: readonly Protocol[];
  /** Of HTTP/2: streams at once. */
  readonly streamsMax?: number;
  /** Clients without a certificate of its CA are turned away. Default: they are asked for one, and any is accepted. */
  readonly certificateRequired?: boolean;
}

/** An HTTPS server for tests with its own CA. It requests client certificates. */
export class TlsFixture {
  readonly directory = mkdtempSync(join(tmpdir(), 'tls-'));
  readonly #context = { clock: systemClock, random: systemRandom };
  readonly #authority = ensureAuthority(this.#files('ca'), 'ca', this.#context);
  readonly #server: https.Server | Http2SecureServer;
  readonly #sockets = new Set<TLSSocket>();
  /** Of HTTP/2. */
  readonly sessions = new Set<ServerHttp2Session>();
  handle: Handler = (_request, response) => response.end('{}');
  /** Number of connections accepted so far. */
  connections = 0;

  /** `hosts`: those of its certificate. */
  constructor(hosts: readonly string[] = ['api.example.com'], options: TlsFixtureOptions = {}) {
    const { certificateRequired = false, protocols = ['http/1.1'], streamsMax } = options;
    const serving = ensureIssued(
      this.#files('server'),
      this.#authority,
      { subject: { commonName: 'server' }, use: 'serverAuth', hosts },
      this.#context,
    );
    const tls = {
      cert: serving.certificatePem,
      key: serving.keyPem,
      ca: this.#authority.certificatePem,
      requestCert: true,
      rejectUnauthorized: certificateRequired,
    };
    const settings = streamsMax === undefined ? {} : { maxConcurrentStreams: streamsMax };
    this.#server = protocols.includes('h2')
      ? createSecureServer({ ...tls, allowHTTP1: protocols.includes('http/1.1'), settings })
      : https.createServer(tls);
    // Both forms of requests have what handlers use.
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => this.handle(request, response));
    this.#server.on('secureConnection', (socket: TLSSocket) => {
      this.connections += 1;
      this.#sockets.add(socket.on('close', () => this.#sockets.delete(socket)));
    });
    this.#server.on('session', (session: ServerHttp2Session) => {
      this.sessions.add(session.on('close', () => this.sessions.delete(session)));
    });
  }

  #files(name: string) {
    return { certificate: join(this.directory, `${name}.crt`), key: join(this.directory, `${name}.key`) };
  }

  get authorities(): string {
    return this.#authority.certificatePem;
  }

  /** Takes the connection of each request that asks for another protocol. */
  onUpgrade(take: (request: IncomingMessage, socket: TLSSocket, head: Buffer) => void): void {
    this.#server.on('upgrade', take);
  }

  async listen(address = '127.0.0.1'): Promise<void> {
    this.#server.listen(0, address);
    await once(this.#server, 'listening');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Client configuration for the server, without credentials. */
  connection(path = '/', more: Partial<ConnectionConfig> = {}): ConnectionConfig {
    return {
      server: new URL(`https://127.0.0.1:${this.port}${path}`),
      authorities: this.authorities,
      serverName: 'api.example.com',
      insecure: false,
      credential: { type: 'stored' },
      impersonation: undefined,
      ...more,
    };
  }

  /** Issues a client certificate; also written to `<name>.crt` and `<name>.key` in the directory. */
  issue(name: string): KeyPairPem {
    const { certificatePem, keyPem } = ensureIssued(
      this.#files(name),
      this.#authority,
      { subject: { commonName: name }, use: 'clientAuth' },
      this.#context,
    );
    return { certificate: certificatePem, key: keyPem };
  }

  /** Number of open connections. */
  async open(): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    return promise;
  }

  /** Closes all connections, as a restarting server does. */
  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.dropConnections();
    await once(this.#server, 'close');
    rmSync(this.directory, { recursive: true });
  }
}

/** Common name of the request's client certificate. */
export const peerName = ({ socket }: IncomingMessage): string | undefined =>
  (socket as TLSSocket).getPeerCertificate().subject?.CN?.toString();

/** Plugin host with an empty environment and no terminal. */
export const bareHost: PluginHost = { environment: {}, interactive: false, stderr() {} };

/** The real network and file system, without plugins. */
export const bareWorld = { network: systemNetwork, files: systemFiles, pluginHost: bareHost } as const;
