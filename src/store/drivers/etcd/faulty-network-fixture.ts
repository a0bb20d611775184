/** Test support: network faults between a store and its etcd. Imported by tests only. */
import { once } from 'node:events';
import { createServer, connect as openSocket, type Server, type Socket } from 'node:net';
import type { Clock } from '../../../base/time/clock.ts';
import { systemClock } from '../../../base/time/clock.ts';

/** A clock that runs `times` as fast, for tests of timeouts. */
export const hurriedClock = (times: number): Clock => ({
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * times,
  after: (delayMs, callback) => systemClock.after(delayMs / times, callback),
});

interface FaultyNetwork {
  /** Forwards to the real endpoint. */
  readonly endpoint: string;
  /** Number of connections accepted so far. */
  readonly connections: number;
  /** Forwards requests and holds back the responses. */
  holdAnswers(): void;
  /** Resolves once a response was held back. */
  answerHeld(): Promise<void>;
  /** Breaks all connections and drops the responses that were held back; new connections work. */
  cut(): void;
  close(): Promise<void>;
}

/** A proxy in front of an `http` endpoint. */
export const openFaultyNetwork = async (endpoint: string): Promise<FaultyNetwork> => {
  const { hostname, port } = new URL(endpoint);
  const server = createServer();
  const network = new ProxyServer(server, () => openSocket(Number(port), hostname));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return network;
};

class ProxyServer implements FaultyNetwork {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #holding = false;
  #held = Promise.withResolvers<void>();
  #connections = 0;

  constructor(server: Server, toEtcd: () => Socket) {
    this.#server = server;
    server.on('connection', (client) => this.#join(client, toEtcd()));
  }

  get endpoint(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the network is closed');
    return `http://127.0.0.1:${address.port}`;
  }

  get connections(): number {
    return this.#connections;
  }

  holdAnswers(): void {
    this.#holding = true;
    this.#held = Promise.withResolvers();
  }

  answerHeld(): Promise<void> {
    return this.#held.promise;
  }

  cut(): void {
    this.#holding = false;
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(client: Socket, etcd: Socket): void {
    this.#connections += 1;
    for (const [socket, other] of [
      [client, etcd],
      [etcd, client],
    ] as const) {
      this.#sockets.add(socket);
      // If one end fails, the other is destroyed too; the store must notice either.
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
    client.on('data', (bytes) => etcd.write(bytes));
    etcd.on('data', (bytes) => {
      if (this.#holding) this.#held.resolve();
      else client.write(bytes);
    });
  }
}
