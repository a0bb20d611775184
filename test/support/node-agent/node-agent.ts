import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { peerName, TlsFixture } from '../../../src/outbound/tls-fixture.ts';
import { serveChannels } from './channels.ts';
import { runProgram } from './process-streams.ts';
import { SpdySession, type SpdyStream } from './spdy.ts';

/** What the agent was asked. */
interface AgentCall {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  /** Common name of the client's certificate. */
  readonly client: string | undefined;
}

/**
 * The agent of a node: real programs instead of containers, on an address of the test's choice. Like kubelets in use, it speaks
 * SPDY and no WebSocket, unless told to.
 */
export class NodeAgent implements AsyncDisposable {
  readonly tls: TlsFixture;
  readonly calls: AgentCall[] = [];
  /** Streams of shells by WebSocket, which newer clients prefer. */
  speaksChannels = false;
  /** Answers what is no upgrade. Default: a line for each container log. */
  answer: (request: IncomingMessage, response: ServerResponse) => void = answerLog;
  /** Takes connections instead of the agent. */
  take: ((request: IncomingMessage, socket: TLSSocket, head: Buffer) => void) | undefined;

  private constructor(hosts: readonly string[]) {
    this.tls = new TlsFixture(hosts);
    this.tls.handle = (request, response) => {
      this.#note(request);
      this.answer(request, response);
    };
    this.tls.onUpgrade((request, socket, head) => {
      this.#note(request);
      if (this.take) this.take(request, socket, head);
      else this.#upgrade(request, socket, head);
    });
  }

  static async start(address: string, hosts: readonly string[] = [address]): Promise<NodeAgent> {
    const agent = new NodeAgent(hosts);
    await agent.tls.listen(address);
    return agent;
  }

  get port(): number {
    return this.tls.port;
  }

  #note(request: IncomingMessage): void {
    const { method = '', url = '', headers } = request;
    this.calls.push({ method, url, headers, client: peerName(request) });
  }

  #upgrade(request: IncomingMessage, socket: TLSSocket, head: Buffer): void {
    const url = new URL(request.url ?? '', 'https://agent');
    const [, action] = url.pathname.split('/');
    const command = action === 'attach' ? ['cat'] : url.searchParams.getAll('command');
    const protocol = request.headers.upgrade?.toLowerCase();
    if (protocol === 'websocket') {
      if (this.speaksChannels && action !== 'portForward') serveChannels(request, socket, command);
      else socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      return;
    }
    if (action === 'portForward') answerUpgrade(socket, 'portforward.k8s.io');
    else answerUpgrade(socket, 'v4.channel.k8s.io');
    if (action === 'portForward') forwardPorts(socket, head);
    else runShell(socket, head, { query: url.searchParams, command });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tls.close();
  }
}

function answerLog(request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '', 'https://agent');
  response.end(`log of ${pathname}\n`);
}

function answerUpgrade(socket: Duplex, protocol: string): void {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'];
  lines.push(`X-Stream-Protocol-Version: ${protocol}`);
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
}

/** Waits for the streams that the query asks for, then runs the program. */
function runShell(
  socket: Duplex,
  head: Buffer,
  { query, command }: { readonly query: URLSearchParams; readonly command: readonly string[] },
): void {
  const wanted = [
    'error',
    ...(['input', 'output', 'error'] as const).filter((name) => query.has(name)).map((name) => streamNames[name]),
  ];
  const streams = new Map<string, SpdyStream>();
  new SpdySession(socket, head, (stream) => {
    streams.set(stream.headers['streamtype'] ?? '', stream);
    if (!wanted.every((name) => streams.has(name))) return;
    const stdin = streams.get('stdin');
    runProgram(command, {
      ...(stdin && { stdin }),
      stdout: (chunk) => streams.get('stdout')?.write(chunk),
      stderr: (chunk) => streams.get('stderr')?.write(chunk),
      ended: (status) => {
        streams.get('error')?.write(Buffer.from(status));
        for (const name of ['stdout', 'stderr', 'error']) streams.get(name)?.end();
      },
    });
  });
}

const streamNames = { input: 'stdin', output: 'stdout', error: 'stderr' } as const;

/** Every port answers what it is told in capitals. */
function forwardPorts(socket: Duplex, head: Buffer): void {
  const errors = new Map<string, SpdyStream>();
  new SpdySession(socket, head, (stream) => {
    const { streamtype, requestid = '', port = '' } = stream.headers;
    if (streamtype === 'error') {
      errors.set(requestid, stream);
      return;
    }
    stream.read({
      data: (chunk) => stream.write(Buffer.from(`${port}: ${chunk.toString().toUpperCase()}`)),
      end: () => {
        stream.end();
        errors.get(requestid)?.end();
      },
    });
  });
}
