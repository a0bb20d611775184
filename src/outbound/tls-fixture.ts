import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { systemClock } from '../base/clock.ts';
import { systemFiles } from '../base/files.ts';
import { systemRandom } from '../base/random.ts';
import { once } from '../base/waits-fixture.ts';
import { ensureAuthority, ensureIssued } from '../pki/ca.ts';
import type { Connection, KeyPairPem } from './connection.ts';
import type { PluginHost } from './credentials/plugin-process.ts';
import { systemNetwork } from './network.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** An HTTPS server for tests, with an authority of its own. It asks clients for certificates, and takes any. */
export class TlsFixture {
  readonly directory = mkdtempSync(join(tmpdir(), 'tls-'));
  readonly #context = { clock: systemClock, random: systemRandom };
  readonly #authority = ensureAuthority(this.#files('ca'), 'ca', this.#context);
  readonly #server: https.Server;
  handle: Handler = (_request, response) => response.end('{}');
  /** Connections that were made. */
  connections = 0;

  constructor() {
    const serving = ensureIssued(
      this.#files('server'),
      this.#authority,
      { subject: { commonName: 'server' }, use: 'serverAuth', hosts: ['api.example.com'] },
      this.#context,
    );
    this.#server = https.createServer({
      cert: serving.certificatePem,
      key: serving.keyPem,
      ca: this.#authority.certificatePem,
      requestCert: true,
      rejectUnauthorized: false,
    });
    this.#server.on('request', (request, response) => this.handle(request, response));
    this.#server.on('secureConnection', () => {
      this.connections += 1;
    });
  }

  #files(name: string) {
    return { certificate: join(this.directory, `${name}.crt`), key: join(this.directory, `${name}.key`) };
  }

  get authorities(): string {
    return this.#authority.certificatePem;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The server as an anonymous client finds it. */
  connection(path = '/', more: Partial<Connection> = {}): Connection {
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

  /** A client certificate; also `<name>.crt` and `<name>.key` in the directory. */
  issue(name: string): KeyPairPem {
    const { certificatePem, keyPem } = ensureIssued(
      this.#files(name),
      this.#authority,
      { subject: { commonName: name }, use: 'clientAuth' },
      this.#context,
    );
    return { certificate: certificatePem, key: keyPem };
  }

  /** Connections that are open. */
  async open(): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    return promise;
  }

  /** Ends all connections, as a server does that restarts. */
  dropConnections(): void {
    this.#server.closeAllConnections();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
    rmSync(this.directory, { recursive: true });
  }
}

/** The common name of the certificate that the client of a request has shown. */
export const peerName = ({ socket }: IncomingMessage): string | undefined =>
  (socket as TLSSocket).getPeerCertificate().subject?.CN?.toString();

/** Plugins find nothing and nobody. */
export const bareHost: PluginHost = { environment: {}, interactive: false, stderr() {} };

/** The machine that tests run on, with no plugin. */
export const bareWorld = { network: systemNetwork, files: systemFiles, pluginHost: bareHost } as const;
