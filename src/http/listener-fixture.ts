import { createPublicKey } from 'node:crypto';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { type Logger, silentLogger } from '../base/logger.ts';
import { systemRandom } from '../base/random.ts';
import { type Clock, systemClock } from '../base/time/clock.ts';
import { once, within } from '../base/waits-fixture.ts';
import { sendStatus } from '../content/status.ts';
import { type CertificateUse, issueCertificate, issueSelfSigned } from '../pki/certificate.ts';
import { generateKey, keyToPem } from '../pki/keys.ts';
import type { Exchange, Headers } from './exchange.ts';
import { type Listener, type ListenerLimits, type ListenOptions, listen, type TlsMaterial } from './listener.ts';
import { readToClose } from './socket-fixture.ts';

/** Listeners on the loopback interface, and clients of both protocols, for tests. */

const hourMs = 3600_000;

function authority(commonName: string) {
  const privateKey = generateKey();
  const request = {
    subject: { commonName },
    publicKey: createPublicKey(privateKey),
    uses: ['authority'] as const,
    ...validity(),
  };
  return { certificate: issueSelfSigned(request, privateKey, systemRandom), privateKey };
}

const validity = () => ({ notBefore: Date.now() - hourMs, notAfter: Date.now() + hourMs });

function issued(issuer: ReturnType<typeof authority>, commonName: string, use: CertificateUse) {
  const key = generateKey();
  const request = {
    subject: { commonName },
    publicKey: createPublicKey(key),
    uses: [use],
    hosts: ['127.0.0.1'],
    ...validity(),
  };
  return { cert: issueCertificate(issuer, request, systemRandom).toString(), key: keyToPem(key) };
}

const trusted = authority('test-ca');

export const ca = trusted.certificate.toString();
export const serving = issued(trusted, 'server', 'serverAuth');
export const clientPair = issued(trusted, 'alice', 'clientAuth');
export const strangerPair = issued(authority('other-ca'), 'mallory', 'clientAuth');

export interface Started extends AsyncDisposable {
  readonly listener: Listener;
  /** An HTTP/2 connection, closed with the fixture. */
  http2(options?: ConnectionOptions): Promise<ClientHttp2Session>;
  /** A TLS connection without ALPN, for HTTP/1.1 by hand. */
  tls(options?: ConnectionOptions): Promise<TLSSocket>;
}

export async function start(
  handle: (exchange: Exchange) => void,
  options: {
    readonly limits?: Partial<ListenerLimits>;
    readonly clock?: Clock;
    readonly logger?: Logger;
    readonly ca?: string;
    readonly tls?: Partial<TlsMaterial>;
    readonly goaway?: NonNullable<ListenOptions['goaway']>;
    readonly headers?: Headers;
    readonly upgrades?: (target: string) => boolean;
  } = {},
): Promise<Started> {
  const {
    clock = systemClock,
    logger = silentLogger,
    limits = {},
    headers = {},
    upgrades = () => false,
    goaway,
  } = options;
  const tls = { ...serving, ...(options.ca !== undefined && { ca: options.ca }), ...options.tls };
  const listener = await listen({
    tls,
    address: '127.0.0.1',
    port: 0,
    handle,
    refuse: (exchange, error) => sendStatus(exchange, error, { clock, logger }),
    headers,
    upgrades,
    clock,
    logger,
    limits,
    ...(goaway && { goaway }),
  });
  const open: { destroy(): void }[] = [];
  return {
    listener,
    async http2(more = {}) {
      const session = connect(`https://127.0.0.1:${listener.port}`, { ca, ...more });
      session.on('error', () => {});
      open.push(session);
      await once(session, 'remoteSettings');
      return session;
    },
    async tls(more = {}) {
      const socket = connectTls({ host: '127.0.0.1', port: listener.port, ca, ...more });
      socket.on('error', () => {});
      open.push(socket);
      await once(socket, 'secureConnect');
      return socket;
    },
    async [Symbol.asyncDispose]() {
      for (const each of open) each.destroy();
      listener.close();
      await listener.drain(0);
    },
  };
}

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends a request and reads the whole response. */
export async function fetch2(
  session: ClientHttp2Session,
  path: string,
  options: {
    readonly method?: string;
    readonly body?: Uint8Array | string | undefined;
    readonly headers?: OutgoingHttpHeaders;
  } = {},
): Promise<Received> {
  const { method = 'GET', body, headers = {} } = options;
  const stream = session.request({ ':path': path, ':method': method, ...headers }, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  return received(stream);
}

/** Rejects if the stream closes without a response. */
export async function received(stream: ClientHttp2Stream): Promise<Received> {
  const answered = new Promise<IncomingHttpHeaders>((resolve, reject) => {
    stream.once('response', resolve);
    stream.once('error', reject);
    stream.once('close', () => reject(new Error('closed without a response')));
  });
  const headers = await within(answered, 'no response');
  return { status: Number(headers[':status']), headers, body: await readAll(stream) };
}

export async function readAll(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const read = async (): Promise<void> => {
    for await (const chunk of stream) chunks.push(chunk);
  };
  await within(read(), () => `what is read does not end: ${Buffer.concat(chunks).subarray(0, 1_000)}`);
  return Buffer.concat(chunks);
}

/** Writes text and reads until the server closes the connection. */
export async function exchangeText(socket: TLSSocket, text: string): Promise<string> {
  socket.write(text);
  return readToClose(socket);
}

/** The TLS session for resumption: available with the handshake in TLS 1.2, and after it in 1.3. */
export async function sessionOf(socket: TLSSocket): Promise<Buffer> {
  if (socket.getProtocol() === 'TLSv1.2') return socket.getSession() ?? Buffer.alloc(0);
  const [session] = (await once(socket, 'session')) as [Buffer];
  return session;
}
