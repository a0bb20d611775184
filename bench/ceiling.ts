import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http2';
import { join } from 'node:path';
import { systemRandom } from '../src/base/random.ts';
import { systemClock } from '../src/base/time/clock.ts';
import { ensureAuthority, ensureIssued } from '../src/pki/ca.ts';
import type { ApiResponse } from './api-client.ts';
import { Http1Client } from './http1-client.ts';
import { type ConnectOptions, Http2Client } from './http2-client.ts';
import { cpuSeconds } from './process-stats.ts';
import { within } from './within.ts';
import type { Workspace } from './workspace.ts';

/** An answer that is sent as it is. */
export interface Canned {
  readonly status: number;
  /** Names and values in turns. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  /** The stream stays open for events; the body is not sent. */
  readonly watch?: boolean;
  /** A request of this path sends the event to all watchers. */
  readonly emits?: boolean;
}

/** What the ceiling's program is told. It answers each message with one. */
export type CeilingMessage =
  | { readonly type: 'listen'; readonly cert: string; readonly key: string }
  | { readonly type: 'answer'; readonly path: string; readonly answer: Canned }
  | { readonly type: 'event'; readonly event: Buffer }
  /** Answered when that many watches are open. */
  | { readonly type: 'watchers'; readonly count: number };

export interface CeilingPorts {
  readonly http2: number;
  readonly http1: number;
}

const answerMsMax = 10_000;

/** The bare server (ceiling-http2.ts) in a process of its own, with certificates as the product's. */
export class Ceiling implements AsyncDisposable {
  readonly #workspace: Workspace;
  readonly #child: ChildProcess;
  readonly #ports: CeilingPorts;
  readonly #tls: Omit<ConnectOptions, 'port'>;

  private constructor(
    workspace: Workspace,
    child: ChildProcess,
    ports: CeilingPorts,
    tls: Omit<ConnectOptions, 'port'>,
  ) {
    this.#workspace = workspace;
    this.#child = child;
    this.#ports = ports;
    this.#tls = tls;
  }

  static async start(workspace: Workspace, nodeOptions = ''): Promise<Ceiling> {
    const { ca, cert, key, serving } = makeCertificates(workspace.freshPath('ceiling'));
    const child = workspace.spawn({
      command: process.execPath,
      args: [join(import.meta.dirname, 'ceiling-http2.ts')],
      env: { NODE_OPTIONS: nodeOptions },
      messages: true,
    });
    child.stdout?.pipe(process.stderr);
    child.stderr?.pipe(process.stderr);
    const ports = await ask(child, { type: 'listen', ...serving });
    return new Ceiling(workspace, child, ports as CeilingPorts, { ca, cert, key });
  }

  async answer(path: string, answer: Canned): Promise<void> {
    await ask(this.#child, { type: 'answer', path, answer });
  }

  async event(event: Buffer): Promise<void> {
    await ask(this.#child, { type: 'event', event });
  }

  /** Resolves when that many watches are open. */
  async watchersOpen(count: number): Promise<void> {
    await ask(this.#child, { type: 'watchers', count });
  }

  http2(count: number): Promise<Http2Client[]> {
    const access = { ...this.#tls, port: this.#ports.http2 };
    return Promise.all(Array.from({ length: count }, () => Http2Client.connect(access)));
  }

  http1(count: number): Promise<Http1Client[]> {
    const access = { ...this.#tls, port: this.#ports.http1 };
    return Promise.all(Array.from({ length: count }, () => Http1Client.connect(access)));
  }

  cpuSeconds(): number {
    return cpuSeconds(this.#child.pid ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#workspace.stop(this.#child);
  }
}

async function ask(child: ChildProcess, message: CeilingMessage): Promise<unknown> {
  const answered = once(child, 'message');
  child.send(message);
  const [answer] = await within(answered, answerMsMax, 'asking the ceiling server');
  return answer;
}

/** A response of the product as the ceiling is to give it: the same headers, the same bytes. */
export function cannedFrom({ status, headers, body }: ApiResponse): Canned {
  return { status, headers: headerLines(headers), body };
}

const headerLines = (headers: IncomingHttpHeaders): string[] =>
  Object.entries(headers).flatMap(([name, value]) => (name.startsWith(':') ? [] : [name, String(value)]));

function makeCertificates(directory: string) {
  mkdirSync(directory, { mode: 0o700 });
  const context = { clock: systemClock, random: systemRandom };
  const files = (name: string) => ({
    certificate: join(directory, `${name}.crt`),
    key: join(directory, `${name}.key`),
  });
  const authority = ensureAuthority(files('ca'), 'bench', context);
  const serving = ensureIssued(
    files('server'),
    authority,
    { subject: { commonName: 'bench' }, use: 'serverAuth', hosts: ['127.0.0.1'] },
    context,
  );
  const client = ensureIssued(
    files('client'),
    authority,
    { subject: { commonName: 'bench' }, use: 'clientAuth' },
    context,
  );
  return {
    ca: Buffer.from(authority.certificatePem),
    cert: Buffer.from(client.certificatePem),
    key: Buffer.from(client.keyPem),
    serving: { cert: serving.certificatePem, key: serving.keyPem },
  };
}
