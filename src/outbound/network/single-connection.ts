import { lookup } from 'node:dns/promises';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { limits } from '../../base/limits.ts';
import type { OpenOptions } from '../network.ts';
import { nameOf, tlsOptions } from './client-tls.ts';

/** The addresses that the machine's resolver knows of a name. */
export async function resolveHost(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Resolves when the connection, and TLS on it, is established. */
export async function openConnection({ address, port, tls, signal }: OpenOptions): Promise<Socket> {
  signal.throwIfAborted();
  const tcp = connectTcp({
    ...{ host: address, port, allowHalfOpen: true, noDelay: true },
    ...{ keepAlive: true, keepAliveInitialDelay: limits.tcpKeepAliveMs },
  });
  await ready(tcp, 'connect', signal);
  if (!tls) return tcp;
  // The name is for the certificate alone: the address was looked up and checked before.
  const names = { host: tls.serverName, servername: nameOf(tls.serverName), ALPNProtocols: ['http/1.1'] };
  const secured = connectTls({ socket: tcp, ...tlsOptions({ ...tls, keepAlive: false }), ...names });
  await ready(secured, 'secureConnect', signal);
  return secured;
}

/** Waits for an event of a socket, which is closed if that does not come. */
function ready(socket: Socket, event: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const settle = (): void => {
    signal.removeEventListener('abort', abort);
    socket.off('error', fail);
    socket.off('close', closed);
    // A failure is seen by whoever uses the stream, as its end.
    socket.on('error', () => {});
  };
  const fail = (error: unknown): void => {
    settle();
    socket.destroy();
    reject(error);
  };
  const abort = (): void => fail(signal.reason);
  const closed = (): void => fail(new Error('EOF'));
  signal.addEventListener('abort', abort, { once: true });
  socket.on('error', fail);
  socket.on('close', closed);
  socket.once(event, () => {
    settle();
    resolve();
  });
  return promise;
}
