import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Passes each connection to one of several ports in turn; one that refuses is passed over. Knows nothing of what it carries. */
export class TcpBalancer implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #ports: readonly number[];
  #turn = 0;

  private constructor(ports: readonly number[]) {
    this.#ports = ports;
    this.#server = createServer((client) => this.#pass(client, ports.length));
  }

  static async start(ports: readonly number[]): Promise<TcpBalancer> {
    const balancer = new TcpBalancer(ports);
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address ? address.port : 0;
  }

  #pass(client: Socket, attempts: number): void {
    const port = this.#ports[this.#turn++ % this.#ports.length] ?? 0;
    const server = connect(port, '127.0.0.1');
    this.#keep(client);
    this.#keep(server);
    let connected = false;
    server.once('connect', () => {
      connected = true;
      client.pipe(server).pipe(client);
    });
    const end = (): void => {
      server.destroy();
      if (!connected && attempts > 1 && !client.destroyed) this.#pass(client, attempts - 1);
      else client.destroy();
    };
    server.on('error', end).on('close', () => connected && client.destroy());
    client.on('error', () => server.destroy()).on('close', () => server.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
