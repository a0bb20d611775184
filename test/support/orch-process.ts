import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../src/base/free-port-fixture.ts';
import { within } from '../../src/base/waits-fixture.ts';
import { kubeconfigCredentials } from './kubeconfig-credentials.ts';

const ownLauncher = new URL('../../bin/orch', import.meta.url).pathname;

export interface Answer<T = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  readonly text: string;
  /** The body as JSON; undefined where it is none. */
  readonly json: T;
}

export interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Instead of the admin certificate. `anonymous`: nothing. */
  readonly as?: 'admin' | 'anonymous' | { readonly token: string } | undefined;
}

export interface StartOptions {
  readonly flags?: readonly string[];
  readonly dataDir?: string;
  /** A command that runs the server. */
  readonly within?: readonly string[];
  /** Of another release: what is started first. */
  readonly launcher?: string;
}

/** A server under test: `bin/orch up` in a process of its own, in a folder that goes with it. */
export class OrchProcess implements AsyncDisposable {
  readonly dataDir: string;
  readonly #flags: readonly string[];
  readonly #within: readonly string[];
  readonly #ownsDataDir: boolean;
  #child: ChildProcess | undefined;
  #log = '';
  #port = 0;
  #agent: https.Agent | undefined;
  #anonymous: https.Agent | undefined;

  private constructor({ flags = [], dataDir, within = [] }: StartOptions) {
    this.#flags = flags;
    this.#within = within;
    this.#ownsDataDir = dataDir === undefined;
    this.dataDir = dataDir ?? mkdtempSync(join(tmpdir(), 'orch-test-'));
  }

  /** Starts a server and waits until it is ready. */
  static async start(options: StartOptions = {}): Promise<OrchProcess> {
    const server = new OrchProcess(options);
    await server.restart(options.launcher);
    return server;
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  get kubeconfig(): string {
    return join(this.dataDir, 'admin.kubeconfig');
  }

  /** What the server printed. */
  get log(): string {
    return this.#log;
  }

  /** Leaves what the server prints from now on unread, and reads it again. */
  readLog(reads: boolean): void {
    const { stderr } = this.#child ?? {};
    if (reads) stderr?.resume();
    else stderr?.pause();
  }

  /** The certificate and key of the admin, and the authority of the server, as PEM. */
  get credentials(): ReturnType<typeof kubeconfigCredentials> {
    return kubeconfigCredentials(this.kubeconfig);
  }

  /** Starts the server again on the same data; `launcher`: that of another release. */
  async restart(launcher = ownLauncher): Promise<void> {
    this.#port = this.#port || (await freePort());
    // The same on every machine.
    const isGiven = launcher !== ownLauncher || this.#flags.some((flag) => flag.startsWith('--serving-threads'));
    const threads = isGiven ? [] : ['--serving-threads=1'];
    const flags = [`--data-dir=${this.dataDir}`, `--secure-port=${this.#port}`, ...threads, ...this.#flags];
    const [command = '', ...args] = [...this.#within, launcher, 'up', ...flags];
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    this.#log = '';
    child.stdout.on('data', (chunk) => {
      this.#log += chunk;
    });
    child.stderr.on('data', (chunk) => {
      this.#log += chunk;
    });
    await this.#ready(child);
  }

  async #ready(child: ChildProcess): Promise<void> {
    for (let attempt = 0; attempt < 2_000; attempt++) {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the server ended:\n${this.#log}`);
      if (await this.#answersReady()) return;
      await delay(10);
    }
    throw new Error(`the server was not ready in time:\n${this.#log}`);
  }

  /** Asks as the admin, once there is one: whether others may know is what some tests are about. */
  #answersReady(): Promise<boolean> {
    const shown = existsSync(this.kubeconfig) ? this.credentials : {};
    return new Promise((resolve) => {
      const request = https.get(
        { host: '127.0.0.1', port: this.#port, path: '/readyz', ...shown, rejectUnauthorized: false, agent: false },
        (response) => {
          response.resume();
          resolve(response.statusCode === 200);
        },
      );
      request.on('error', () => resolve(false));
    });
  }

  request<T = Record<string, unknown>>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<T>> {
    const body = options.body === undefined ? undefined : toBytes(options.body);
    const headers: Record<string, string> = { accept: 'application/json', ...options.headers };
    if (body) {
      headers['content-type'] ??= 'application/json';
      headers['content-length'] = String(body.length);
    }
    if (typeof options.as === 'object') headers['authorization'] = `Bearer ${options.as.token}`;
    const answer = new Promise<Answer<T>>((resolve, reject) => {
      const request = https.request(
        { host: '127.0.0.1', port: this.#port, method, path, headers, agent: this.#agentOf(options.as) },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const bytes = Buffer.concat(chunks);
            const text = bytes.toString();
            const { statusCode: status = 0, headers } = response;
            resolve({ status, headers, bytes, text, json: tryParse(text) as T });
          });
        },
      );
      request.on('error', reject);
      request.end(body);
    });
    return within(answer, () => `no answer to ${method} ${path}:\n${this.#log}`);
  }

  get<T = Record<string, unknown>>(path: string, options?: RequestOptions): Promise<Answer<T>> {
    return this.request('GET', path, options);
  }

  post<T = Record<string, unknown>>(path: string, body: unknown, options?: RequestOptions): Promise<Answer<T>> {
    return this.request('POST', path, { ...options, body });
  }

  put<T = Record<string, unknown>>(path: string, body: unknown, options?: RequestOptions): Promise<Answer<T>> {
    return this.request('PUT', path, { ...options, body });
  }

  delete<T = Record<string, unknown>>(path: string, options?: RequestOptions): Promise<Answer<T>> {
    return this.request('DELETE', path, options);
  }

  #agentOf(as: RequestOptions['as']): https.Agent {
    if (as === undefined || as === 'admin') {
      this.#agent ??= new https.Agent({ keepAlive: true, ...this.credentials });
      return this.#agent;
    }
    this.#anonymous ??= new https.Agent({ keepAlive: true, ca: this.credentials.ca });
    return this.#anonymous;
  }

  /** Opens a watch, as the admin or who has the token; events come one by one until it ends or `close` is called. */
  watch(path: string, as?: { readonly token: string }): WatchClient {
    const { ca, ...admin } = this.credentials;
    const shown = as ? { headers: { authorization: `Bearer ${as.token}` } } : admin;
    return new WatchClient(path, { host: '127.0.0.1', port: this.#port, ca, ...shown });
  }

  /** Ends the process without notice. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Asks the server to stop; gives its exit code. */
  async stop(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    this.#agent?.destroy();
    this.#anonymous?.destroy();
    this.#agent = undefined;
    this.#anonymous = undefined;
    const child = this.#child;
    if (!child) return null;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill(signal);
      await within(ended, () => `the server does not end for ${signal}:\n${this.#log}`);
    }
    this.#child = undefined;
    return child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    if (this.#ownsDataDir) rmSync(this.dataDir, { recursive: true, force: true });
  }
}

export interface WatchEvent {
  readonly type: string;
  readonly object: {
    readonly kind: string;
    readonly code?: number;
    readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string; readonly resourceVersion: string };
    readonly [field: string]: unknown;
  };
}

/** A watch in progress. */
export class WatchClient {
  readonly events: WatchEvent[] = [];
  status = 0;
  ended = false;
  /** The server ended it in order: it was not cut off. */
  complete = false;
  readonly #request: ReturnType<typeof https.request>;
  #rest = '';
  #wake: (() => void)[] = [];

  constructor(path: string, options: https.RequestOptions & { readonly headers?: Readonly<Record<string, string>> }) {
    this.#request = https.request(
      { ...options, path, agent: false, headers: { accept: 'application/json', ...options.headers } },
      (response) => {
        this.status = response.statusCode ?? 0;
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => this.#take(chunk));
        response.on('error', () => this.#end());
        response.on('end', () => {
          this.complete = true;
        });
        response.on('close', () => this.#end());
        this.#notify();
      },
    );
    this.#request.on('error', () => this.#end());
    this.#request.end();
  }

  #take(chunk: string): void {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') this.events.push(JSON.parse(line));
    this.#notify();
  }

  #end(): void {
    this.ended = true;
    this.#notify();
  }

  #notify(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }

  /** Waits until the condition holds; fails when the watch ends before. */
  async until(condition: (watch: WatchClient) => boolean): Promise<void> {
    while (!condition(this)) {
      if (this.ended) throw new Error(`the watch ended (status ${this.status}) after ${this.events.length} events`);
      const woken = new Promise<void>((resolve) => this.#wake.push(resolve));
      await within(woken, () => `this does not hold after ${this.events.length} events: ${condition}`);
    }
  }

  close(): void {
    this.#request.destroy();
  }
}

function toBytes(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not JSON: the caller looks at the text
  }
}
