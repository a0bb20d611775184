import { type AddressInfo, createServer, isIPv4, type Server, type Socket } from 'node:net';
import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Store } from '../../store.ts';
import { openMemoryStore } from '../memory/memory-store.ts';
import { protocol, storePath } from './protocol.ts';
import { type RequestHead, readHead } from './request-head.ts';
import { serveStore } from './serve-store.ts';

/**
 * What stands in for etcd in test environments: it answers those who wait for an etcd, and holds a store in memory for the
 * API servers that ask for it by an upgrade of HTTP. It speaks nothing of etcd's own protocol.
 */
export interface EtcdStandIn extends Closable {
  /** Where it listens, in the order of the addresses asked for. */
  readonly addresses: readonly AddressInfo[];
}

interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** The release that `/version` tells. */
export const etcdRelease = '3.5.16';

/** What environment libraries and people look at. */
const documents: Readonly<Record<string, string>> = {
  '/health': '{"health":"true","reason":""}',
  '/livez': 'ok\n',
  '/readyz': 'ok\n',
  '/version': JSON.stringify({ etcdserver: etcdRelease, etcdcluster: '3.5.0' }),
};

/** Listens on all of the addresses. Rejects if one of them cannot be bound. */
export async function openEtcdStandIn(addresses: readonly ListenAddress[]): Promise<EtcdStandIn> {
  const store = openMemoryStore();
  const servers: Server[] = [];
  const connections = new Set<Socket>();
  const close = (): void => {
    void store.close();
    for (const connection of connections) connection.destroy();
    for (const server of servers) server.close();
  };
  try {
    for (const address of addresses) {
      const server = standInServer(store, connections);
      servers.push(server);
      await listen(server, address);
    }
  } catch (error) {
    close();
    throw error;
  }
  return { addresses: servers.map((server) => server.address() as AddressInfo), close };
}

function standInServer(store: Store, connections: Set<Socket>): Server {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on('error', () => {});
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    void serve(store, socket);
  });
  server.maxConnections = limits.connectionsMax;
  return server;
}

/** Answers the one request of a connection, whose end follows, or makes it one to the store. */
async function serve(store: Store, socket: Socket): Promise<void> {
  socket.setTimeout(limits.headersMsMax, () => socket.destroy());
  const head = await readHead(socket);
  if (head?.path === storePath && head.upgrade === protocol && isFromHere(socket)) {
    socket.setTimeout(0);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
    await serveStore(store, socket);
    return;
  }
  socket.end(answer(head));
  // Closing while something is unread would reset the connection, and the answer be lost.
  socket.resume();
}

/** Data is for programs of this machine, whatever address is listened on. */
function isFromHere({ remoteAddress = '', localAddress }: Socket): boolean {
  const address = remoteAddress.replace(/^::ffff:/, '');
  return remoteAddress === localAddress || address === '::1' || (isIPv4(address) && address.startsWith('127.'));
}

function answer(head: RequestHead | undefined): string {
  if (!head) return response('400 Bad Request', 'bad request\n');
  const { method, path } = head;
  if (path === storePath) return response('403 Forbidden', 'for API servers of this machine\n');
  const body = Object.hasOwn(documents, path) ? documents[path] : undefined;
  if (body === undefined) return response('404 Not Found', '404 page not found\n');
  if (method !== 'GET' && method !== 'HEAD') return response('405 Method Not Allowed', 'Method Not Allowed\n');
  return response('200 OK', body, method);
}

function response(status: string, body: string, method = 'GET'): string {
  const type = body.startsWith('{') ? 'application/json' : 'text/plain; charset=utf-8';
  const fields = `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`;
  return `HTTP/1.1 ${status}\r\n${fields}\r\n\r\n${method === 'HEAD' ? '' : body}`;
}

function listen(server: Server, { host, port }: ListenAddress): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen({ host, port }, () => {
    server.off('error', reject);
    resolve();
  });
  return promise;
}
