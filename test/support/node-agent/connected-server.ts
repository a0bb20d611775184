import assert from 'node:assert/strict';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { once } from '../../../src/base/waits-fixture.ts';
import { readToClose } from '../../../src/http/socket-fixture.ts';
import { systemNetwork } from '../../../src/outbound/network/system-network.ts';
import type { Network, OpenOptions } from '../../../src/outbound/network.ts';
import { defaultAgents, type RunningServer, type ServerConfig } from '../../../src/server/wiring/config.ts';
import { systemEnvironment } from '../../../src/server/wiring/environment.ts';
import { startServer } from '../../../src/server/wiring/start-server.ts';
import { listeningConfiguration, tokens } from '../server-configuration.ts';
import { NodeAgent } from './node-agent.ts';

/** The address of the agent, as the server sees it: the network of the test leads it to the loopback interface. */
export const agentAddress = '192.0.2.10';

/** A server, an agent, and a network between them in which every address is the agent's. */
export class ConnectedServer implements AsyncDisposable {
  readonly agent: NodeAgent;
  readonly #server: RunningServer;
  /** Where connections were opened to. */
  readonly opened: string[];
  /** Addresses of names. */
  readonly names: Map<string, readonly string[]>;

  private constructor(server: RunningServer, parts: Pick<ConnectedServer, 'agent' | 'opened' | 'names'>) {
    this.#server = server;
    this.agent = parts.agent;
    this.opened = parts.opened;
    this.names = parts.names;
  }

  static async start(more: Partial<ServerConfig> = {}): Promise<ConnectedServer> {
    const agent = await NodeAgent.start('127.0.0.1', [agentAddress, 'n1.example']);
    const opened: string[] = [];
    const names = new Map<string, readonly string[]>();
    const network: Network = {
      ...systemNetwork,
      resolve: async (host) => names.get(host) ?? Promise.reject(new Error(`no such host ${host}`)),
      open: (options: OpenOptions) => {
        opened.push(`${options.address}:${options.port}`);
        return systemNetwork.open({ ...options, address: '127.0.0.1', port: agent.port });
      },
    };
    const authorities = { path: `${agent.tls.directory}/ca.crt`, content: Buffer.from(agent.tls.authorities) };
    agent.tls.issue('api');
    const files = { certificate: `${agent.tls.directory}/api.crt`, key: `${agent.tls.directory}/api.key` };
    const agents = { ...defaultAgents, authorities, client: { pair: agent.tls.issue('api'), files } };
    const config = listeningConfiguration({ agents, ...more });
    const server = await startServer(config, { ...systemEnvironment, network });
    return new ConnectedServer(server, { agent, opened, names });
  }

  get port(): number {
    return this.#server.port;
  }

  /** A connection of a client; without ALPN it is HTTP/1.1. */
  async open(): Promise<TLSSocket> {
    const socket = connectTls({ host: '127.0.0.1', port: this.port, rejectUnauthorized: false });
    socket.on('error', () => {});
    await once(socket, 'secureConnect');
    return socket;
  }

  /** The text of a request by the administrator. */
  static text(method: string, target: string, headers: readonly string[] = [], token: string = tokens.root): string {
    const lines = [`${method} ${target} HTTP/1.1`, 'host: api.example', `authorization: Bearer ${token}`, ...headers];
    return [...lines, '', ''].join('\r\n');
  }

  /** Status and body of an answer, read to the end of the connection. */
  async ask(method: string, target: string, headers: readonly string[] = [], token?: string) {
    const socket = await this.open();
    socket.write(ConnectedServer.text(method, target, ['connection: close', ...headers], token));
    return split(await readToClose(socket));
  }

  async create(path: string, object: object): Promise<void> {
    const body = JSON.stringify(object);
    const headers = [
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
    ];
    const socket = await this.open();
    socket.write(`${ConnectedServer.text('POST', path, headers)}${body}`);
    const { status, body: answer } = split(await readToClose(socket));
    assert.equal(status, 201, answer);
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.agent[Symbol.asyncDispose]();
  }
}

/** Parts of an answer; bodies in chunks are joined. */
export function split(answer: string) {
  const [head = '', ...rest] = answer.split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.split(': ')[0]?.toLowerCase() ?? '', line.slice(line.indexOf(': ') + 2)]),
  );
  const sent = rest.join('\r\n\r\n');
  const body =
    headers.get('transfer-encoding') === 'chunked' ? sent.replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, '').trimEnd() : sent;
  return { status: Number(first.split(' ')[1]), headers, body, message: messageOf(body) };
}

function messageOf(body: string): string {
  try {
    const { message = '' } = JSON.parse(body) as { readonly message?: string };
    return message;
  } catch {
    return '';
  }
}
