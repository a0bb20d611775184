import {
  createServer,
  type IncomingMessage,
  request as openRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, isIPv4 } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Store } from '../../store.ts';
import { openMemoryStore } from '../memory/memory-store.ts';
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

/** The protocol that an API server upgrades to. A server of another version is taken for none. */
const protocol = 'orch-store-1';
const storePath = '/orch/store';

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
  const connections = new Set<Duplex>();
  const close = (): void => {
    void store.close();
    for (const connection of connections) connection.destroy();
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
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

function standInServer(store: Store, connections: Set<Duplex>): Server {
  const server = createServer(answer);
  server.maxConnections = limits.connectionsMax;
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {});
    if (request.url !== storePath || request.headers.upgrade !== protocol || !isFromHere(request)) {
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
    if (head.length > 0) socket.unshift(head);
    connections.add(socket);
    void serveStore(store, socket).then(() => connections.delete(socket));
  });
  return server;
}

/** Data is for programs of this machine, whatever address is listened on. */
function isFromHere({ socket: { remoteAddress = '', localAddress } }: IncomingMessage): boolean {
  const address = remoteAddress.replace(/^::ffff:/, '');
  return remoteAddress === localAddress || address === '::1' || (isIPv4(address) && address.startsWith('127.'));
}

function answer({ method = '', url = '' }: IncomingMessage, response: ServerResponse): void {
  const path = url.replace(/\?.*$/s, '');
  const body = Object.hasOwn(documents, path) ? documents[path] : undefined;
  if (body === undefined) response.writeHead(404).end('404 page not found\n');
  else if (method !== 'GET' && method !== 'HEAD') response.writeHead(405, { allow: 'GET' }).end('Method Not Allowed\n');
  else {
    const type = body.startsWith('{') ? 'application/json' : 'text/plain; charset=utf-8';
    response.writeHead(200, { 'content-type': type }).end(body);
  }
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

/** Who is at an address that should be etcd's: a connection to the store of a stand-in, or another program. */
type Found = { readonly type: 'standIn'; readonly connection: Duplex } | { readonly type: 'other' };

/** Looks who answers at a URL. Rejects with the error of the system if nobody does. */
export function findStandIn(url: URL): Promise<Found> {
  const { promise, resolve, reject } = Promise.withResolvers<Found>();
  const headers = { connection: 'Upgrade', upgrade: protocol };
  const asked = openRequest(new URL(storePath, url), { headers, agent: false, timeout: limits.standInAnswerMsMax });
  asked.on('timeout', () => asked.destroy(new Error('no answer')));
  asked.on('error', reject);
  asked.on('response', (response) => {
    response.resume();
    asked.destroy();
    resolve({ type: 'other' });
  });
  asked.on('upgrade', (_response, socket, head) => {
    socket.setTimeout(0);
    socket.setNoDelay(true);
    if (head.length > 0) socket.unshift(head);
    resolve({ type: 'standIn', connection: socket });
  });
  asked.end();
  return promise;
}
