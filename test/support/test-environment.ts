import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/base/free-port-fixture.ts';
import { until, within } from '../../src/base/waits-fixture.ts';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { generateKey, keyToPem } from '../../src/pki/keys.ts';

const launcher = new URL('../../bin/orch', import.meta.url).pathname;

/** A folder of `orch envtest`, and the programs that were started from it; all end with it. */
export class TestEnvironment implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), 'orch-envtest-'));
  readonly assets = join(this.root, 'assets');
  /** What the command printed. */
  readonly printed = execFileSync(launcher, ['envtest', '--to', this.assets], { encoding: 'utf8' });
  readonly #programs: Program[] = [];
  /** The administrator: a leaf that nobody else has signed, and that is its own authority. */
  readonly admin = makeCertificate({ name: 'admin', organizations: ['system:masters'] });

  start(name: 'etcd' | 'kube-apiserver', ...flags: readonly string[]): Program {
    const program = new Program(spawn(join(this.assets, name), flags, { stdio: ['ignore', 'pipe', 'pipe'] }));
    this.#programs.push(program);
    return program;
  }

  /** A file of the environment, with its path. */
  file(name: string, content: string): string {
    const path = join(this.root, name);
    writeFileSync(path, content);
    return path;
  }

  async startEtcd(...flags: readonly string[]): Promise<{ readonly program: Program; readonly url: string }> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const program = this.start('etcd', '--listen-client-urls', url, ...flags);
    await program.until(async () => (await statusOf(http, { port, path: '/health' })) === 200);
    return { program, url };
  }

  /** An API server with the flags that libraries give; more of them come last. */
  async startApiserver(etcd: string, ...flags: readonly string[]): Promise<RunningApiserver> {
    const port = await freePort();
    const signing = this.file('sa.key', keyToPem(generateKey()));
    const program = this.start(
      'kube-apiserver',
      ...['--etcd-servers', etcd, '--secure-port', String(port), '--bind-address=127.0.0.1'],
      ...['--cert-dir', join(this.root, 'certificates'), '--authorization-mode', 'RBAC'],
      ...['--service-account-issuer', 'https://localhost', '--service-account-issuer', join(this.root, 'sa.key')],
      ...['--service-account-signing-key-file', signing, '--service-account-key-file', signing],
      ...['--client-ca-file', this.file('client.crt', this.admin.cert), '--service-cluster-ip-range', '10.0.0.0/24'],
      ...['--disable-admission-plugins', 'ServiceAccount', '--insecure-port=0', '--allow-privileged', ...flags],
    );
    await program.until(async () => (await statusOf(https, { port, path: '/readyz' })) === 200);
    return { program, port, request: (method, path, body) => this.#request(port, method, path, body) };
  }

  async #request(port: number, method: string, path: string, body?: unknown): Promise<Answered> {
    const { cert, key } = this.admin;
    const headers = { 'content-type': 'application/json' };
    const request = https.request({
      ...{ host: '127.0.0.1', port, method, path, headers, cert, key },
      ...{ rejectUnauthorized: false, agent: false },
    });
    request.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await within(once(request, 'response'), `an answer to ${path}`)) as [http.IncomingMessage];
    const text = Buffer.concat(await Array.fromAsync(response)).toString();
    return { status: response.statusCode ?? 0, json: JSON.parse(text) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs) await program.end('SIGKILL');
    rmSync(this.root, { recursive: true, force: true });
  }
}

interface Answered {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

interface RunningApiserver {
  readonly program: Program;
  readonly port: number;
  readonly request: (method: string, path: string, body?: unknown) => Promise<Answered>;
}

/** A program of the environment. */
class Program {
  readonly #child: ChildProcess;
  log = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        this.log += chunk;
      });
    }
  }

  /** Waits for a condition; fails when the program ends before. */
  async until(holds: () => Promise<boolean>): Promise<void> {
    await until(
      async () => {
        if (this.#child.exitCode !== null || this.#child.signalCode !== null) throw new Error(`it ended:\n${this.log}`);
        return holds();
      },
      () => `not ready:\n${this.log}`,
    );
  }

  /** Ends it by a signal, unless it has ended; gives the exit code. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill(signal);
      await within(ended, () => `no end after ${signal}:\n${this.log}`);
    }
    return child.exitCode;
  }
}

async function statusOf(
  protocol: typeof http | typeof https,
  options: { readonly port: number; readonly path: string },
): Promise<number | undefined> {
  return new Promise((resolve) => {
    const request = protocol.get(
      { ...options, host: '127.0.0.1', rejectUnauthorized: false, agent: false },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    );
    request.on('error', () => resolve(undefined));
  });
}
