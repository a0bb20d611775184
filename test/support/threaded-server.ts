import { mkdtempSync, rmSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BroadcastChannel, Worker } from 'node:worker_threads';
import { until, within } from '../../src/base/waits-fixture.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { kubeconfigCredentials } from './kubeconfig-credentials.ts';

interface Answer<T> {
  readonly status: number;
  readonly json: T;
  readonly text: string;
}

/** A client's connection, which stays at one thread as long as it is open. */
export class ClientConnection {
  readonly #agent: https.Agent;
  readonly #port: number;
  /** How often it was opened. */
  opened = 0;

  constructor(port: number, credentials: https.AgentOptions) {
    this.#port = port;
    this.#agent = new https.Agent({ keepAlive: true, maxSockets: 1, ...credentials });
    const connect = this.#agent.createConnection.bind(this.#agent);
    this.#agent.createConnection = (...args) => {
      this.opened += 1;
      return connect(...args);
    };
  }

  request<T = Record<string, unknown>>(
    method: string,
    path: string,
    { body, headers }: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Answer<T>> {
    const answer = new Promise<Answer<T>>((resolve, reject) => {
      const options = {
        ...{ host: '127.0.0.1', port: this.#port, method, path, agent: this.#agent },
        headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
      };
      const request = https.request(options, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => {
          const json = (text.startsWith('{') ? JSON.parse(text) : undefined) as T;
          resolve({ status: response.statusCode ?? 0, json, text });
        });
      });
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
    return within(answer, `no answer to ${method} ${path}`);
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Loaded into each thread: blocks its event loop when told so. */
const hangs = `
import { BroadcastChannel, threadId } from 'node:worker_threads';
const channel = new BroadcastChannel('hang');
channel.onmessage = ({ data }) => { while (data === threadId); };
channel.unref();`;

/** `orch up` with several serving threads, whose main thread is that of the test. */
export class ThreadedServer implements AsyncDisposable {
  readonly dataDir: string;
  /** Every thread that was started, in order. */
  readonly workers: Worker[] = [];
  readonly #connections: ClientConnection[] = [];
  #exit: Promise<number> | undefined;
  #signalListeners: readonly ((signal: 'SIGTERM') => void)[] = [];
  /** What was written to standard error, and how it was cut. */
  readonly log: string[] = [];
  #welcome = '';

  private constructor() {
    this.dataDir = mkdtempSync(join(tmpdir(), 'orch-threads-'));
  }

  /** Starts a server and waits until all of its threads serve. */
  static async start(
    threads: number,
    flags: (dataDir: string) => readonly string[] = () => [],
  ): Promise<ThreadedServer> {
    const server = new ThreadedServer();
    const others = process.listeners('SIGTERM');
    const own = ['--dialect=kubernetes', `--data-dir=${server.dataDir}`, '--secure-port=0', '--logging-format=json'];
    const args = ['up', ...own, `--serving-threads=${threads}`, ...flags(server.dataDir)];
    server.#exit = runCommandLine(args, {
      out: (text) => {
        server.#welcome += text;
      },
      err: (text) => void server.log.push(text),
      interactive: false,
      threads: {
        type: 'main',
        start(seat, transfer) {
          const entry = new URL('../../src/cli/serving-thread.ts', import.meta.url);
          const execArgv = ['--import', `data:text/javascript,${encodeURIComponent(hangs)}`];
          const worker = new Worker(entry, { workerData: { args, seat }, transferList: [...transfer], execArgv });
          server.workers.push(worker);
          return worker;
        },
      },
    });
    await server.serving(threads);
    server.#signalListeners = process.listeners('SIGTERM').filter((listener) => !others.includes(listener));
    return server;
  }

  /** Waits until so many threads have become ready since the start. */
  async serving(count: number): Promise<void> {
    await until(
      () => this.lines('a serving thread serves').length >= count,
      () => `not ${count} threads serve:\n${this.log.join('')}`,
    );
  }

  /** The lines of the log with this message. */
  lines(message: string): readonly Record<string, unknown>[] {
    return this.log
      .join('')
      .split('\n')
      .filter((line) => line.includes(message))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Has the event loop of a thread stand still for ever. */
  hang({ threadId }: Worker): void {
    const channel = new BroadcastChannel('hang');
    channel.postMessage(threadId);
    channel.close();
  }

  get port(): number {
    return Number(/https:\/\/[^ ]*:(\d+)/.exec(this.#welcome)?.[1]);
  }

  /** A new connection of the administrator, at the thread that the system chooses. */
  connect(credentials: https.AgentOptions = this.credentials): ClientConnection {
    const connection = new ClientConnection(this.port, credentials);
    this.#connections.push(connection);
    return connection;
  }

  /** So many that with all but certainty each thread has some. */
  connectAll(): readonly [ClientConnection, ...ClientConnection[]] {
    return [this.connect(), ...Array.from({ length: 15 }, () => this.connect())];
  }

  get credentials(): ReturnType<typeof kubeconfigCredentials> {
    return kubeconfigCredentials(join(this.dataDir, 'admin.kubeconfig'));
  }

  /** Stops the server as a signal does. Resolves to the exit code. */
  async stop(): Promise<number> {
    // The signal is that of the process, which is the test's.
    for (const listener of this.#signalListeners) listener('SIGTERM');
    // A second one would end the process.
    this.#signalListeners = [];
    return within(this.#exit ?? Promise.resolve(-1), () => `the server does not stop:\n${this.log.join('')}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections) connection.close();
    await this.stop();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}
