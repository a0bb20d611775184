import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { once } from '../../src/base/waits-fixture.ts';
import { RawClient } from '../../src/http/h2/raw-client-fixture.ts';
import { closed, readToClose } from '../../src/http/socket-fixture.ts';
import type { OrchProcess } from './orch-process.ts';

/** Clients that send what no well-behaved library would: every byte is the test's own. */

/** A TLS connection to the server under test, without ALPN unless asked for; shows the admin's certificate unless given another. */
export async function openTls(server: OrchProcess, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port: server.port, ...server.credentials, ...options });
  socket.on('error', () => {}); // a reset is an answer too
  await once(socket, 'secureConnect');
  return socket;
}

/** No certificate: who asks is anonymous, or whose token is sent. */
export const withoutCertificate = { cert: undefined, key: undefined } as const;

/** Sends bytes on a connection of its own and reads until the server closes it. */
export async function sendRaw(
  server: OrchProcess,
  bytes: string | Uint8Array,
  options?: ConnectionOptions,
): Promise<string> {
  const socket = await openTls(server, options);
  socket.write(bytes);
  return readToClose(socket);
}

/** The status of an HTTP/1.1 answer, NaN where there is none. */
export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? Number.NaN);

/** The request line and headers of a request that asks for the connection to be closed. */
export const requestText = (method: string, target: string, ...headers: readonly string[]): string =>
  [`${method} ${target} HTTP/1.1`, 'host: localhost', 'connection: close', ...headers, '', ''].join('\r\n');

/** An HTTP/2 connection. The caller destroys it. */
export async function openHttp2(server: OrchProcess, options: ConnectionOptions = {}): Promise<ClientHttp2Session> {
  const session = connect(server.url, { ...server.credentials, ...options });
  session.on('error', () => {}); // what became of it shows in its streams
  await once(session, 'remoteSettings');
  return session;
}

/** The status that a request on an HTTP/2 connection is answered with; NaN where its stream is reset instead. */
export async function http2Status(session: ClientHttp2Session, headers: OutgoingHttpHeaders): Promise<number> {
  const stream: ClientHttp2Stream = session.request({ ':method': 'GET', ...headers });
  stream.on('error', () => {});
  stream.resume();
  let status = Number.NaN;
  stream.once('response', (answered) => {
    status = Number(answered[':status']);
  });
  await closed(stream);
  return status;
}

/** The whole answer to a request on an HTTP/2 connection. Rejects where its stream is reset. */
export async function http2Answer(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
): Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders; readonly bytes: Buffer }> {
  const stream = session.request({ ':method': 'GET', ...headers });
  const [answered] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(stream, 'end');
  return { status: Number(answered[':status']), headers: answered, bytes: Buffer.concat(chunks) };
}

/** An HTTP/2 connection whose every frame is the test's own; preface and SETTINGS are sent. The caller destroys its socket. */
export async function openFrames(server: OrchProcess, options: ConnectionOptions = {}): Promise<RawClient> {
  const socket = await openTls(server, { ...options, ALPNProtocols: ['h2'] });
  return new RawClient(socket.setNoDelay(true)).open();
}
