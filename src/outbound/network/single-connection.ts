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
export function openConnection({ address, port, tls, signal }: OpenOptions): Promise<Socket> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const tcp = {
    ...{ host: address, port, allowHalfOpen: true, noDelay: true },
    ...{ keepAlive: true, keepAliveInitialDelay: limits.tcpKeepAliveMs },
  };
  const socket = tls
    ? connectTls({
        ...tcp,
        ...tlsOptions({ ...tls, keepAlive: false }),
        ...{ host: tls.serverName, servername: nameOf(tls.serverName), ALPNProtocols: ['http/1.1'] },
        // The name is for the certificate alone: the address was looked up and checked before.
        lookup: (_name, _options, found) => found(null, [{ address, family: address.includes(':') ? 6 : 4 }]),
      })
    : connectTcp(tcp);
  const settle = (): void => {
    signal.removeEventListener('abort', abort);
    socket.off('error', fail);
    // A failure is seen by whoever uses the stream, as its end.
    socket.on('error', () => {});
  };
  const fail = (error: unknown): void => {
    settle();
    socket.destroy();
    reject(error);
  };
  const abort = (): void => fail(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  socket.on('error', fail);
  socket.once(tls ? 'secureConnect' : 'connect', () => {
    settle();
    resolve(socket);
  });
  return promise;
}
