import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { within } from '../../src/base/waits-fixture.ts';
import type { KubectlRelease } from './kubectl-releases.ts';
import type { OrchProcess } from './orch-process.ts';

export interface KubectlResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Why tests with the real client cannot run here; undefined where they can. */
export const kubectlMissing: string | undefined =
  spawnSync('kubectl', ['version', '--client']).status === 0 ? undefined : 'kubectl is not installed';

interface RunOptions {
  readonly input?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Another release; absent: the one in use. */
  readonly program?: string;
  /** Absent: that of the administrator. */
  readonly kubeconfig?: string;
}

/** Runs the real client to its end. */
export function kubectl(
  server: OrchProcess,
  args: readonly string[],
  { input = '', env, program = 'kubectl', kubeconfig = server.kubeconfig }: RunOptions = {},
): Promise<KubectlResult> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      ['--kubeconfig', kubeconfig, ...args],
      { timeout: 60_000, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, HOME: server.dataDir, ...env } },
      (error, out, err) => resolve({ code: error ? Number(error.code ?? 1) : 0, out, err }),
    );
    child.stdin?.on('error', () => {}); // the client may end before it has read everything
    child.stdin?.end(input);
  });
}

/** The content of a connection file for somebody who has nothing but a token. */
function tokenKubeconfig(server: OrchProcess, token: string): string {
  const authority = server.credentials.ca.toString('base64');
  const cluster = `{server: '${server.url}', certificate-authority-data: ${authority}}`;
  return `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: [{name: k, cluster: ${cluster}}], users: [{name: u, user: {token: '${token}'}}]}`;
}

interface AskOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A token; absent: the administrator. */
  readonly as?: { readonly token: string } | undefined;
}

let clients = 0;

/** One release of the client, as the administrator or others. Those of one release share a home, not connection files. */
export class KubectlClient {
  readonly #id = ++clients;
  readonly #program: string;
  readonly #server: OrchProcess;
  readonly #home: string;
  /** Arguments of every run. */
  readonly #flags: readonly string[];
  readonly #connections = new Map<string, string>();

  constructor({ program, release }: KubectlRelease, server: OrchProcess, flags: readonly string[] = []) {
    this.#program = program;
    this.#server = server;
    this.#flags = flags;
    this.#home = join(server.dataDir, `home-${release}`);
    mkdirSync(this.#home, { recursive: true });
  }

  run(args: readonly string[], { as, input, env }: AskOptions = {}): Promise<KubectlResult> {
    return kubectl(this.#server, [...this.#flags, ...args], {
      input,
      env: { HOME: this.#home, ...env },
      program: this.#program,
      ...(as && { kubeconfig: this.#connection(as.token) }),
    });
  }

  /** The output of a run that succeeds. */
  async prints(args: readonly string[], options?: AskOptions): Promise<string> {
    const { code, out, err } = await this.run(args, options);
    assert.equal(code, 0, `${args.join(' ')}: ${err}`);
    return out;
  }

  /** What is printed of a run that the server refuses. */
  async refused(args: readonly string[], options?: AskOptions): Promise<string> {
    const { code, err } = await this.run(args, options);
    assert.equal(code, 1, args.join(' '));
    return err.trim();
  }

  /** Written once: several runs may read it at once. */
  #connection(token: string): string {
    const known = this.#connections.get(token);
    if (known !== undefined) return known;
    const file = join(this.#home, `connection-${this.#id}-${this.#connections.size}`);
    writeFileSync(file, tokenKubeconfig(this.#server, token));
    this.#connections.set(token, file);
    return file;
  }
}

/** A client that goes on until it is stopped: `get --watch`. */
export class RunningKubectl {
  out = '';
  readonly #child: ReturnType<typeof spawn>;
  #wake: (() => void) | undefined;
  #ended = false;

  constructor(server: OrchProcess, args: readonly string[]) {
    this.#child = spawn('kubectl', ['--kubeconfig', server.kubeconfig, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, HOME: server.dataDir },
    });
    const take = (chunk: Buffer): void => {
      this.out += chunk;
      this.#wake?.();
    };
    this.#child.stdout?.on('data', take);
    this.#child.stderr?.on('data', take);
    this.#child.on('exit', () => {
      this.#ended = true;
      this.#wake?.();
    });
  }

  async until(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.out)) {
      if (this.#ended) throw new Error(`kubectl ended before it printed ${pattern}:\n${this.out}`);
      const printed = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await within(printed, () => `kubectl does not print ${pattern}:\n${this.out}`);
    }
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}
