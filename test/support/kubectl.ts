import { execFile, spawn, spawnSync } from 'node:child_process';
import { within } from '../../src/base/waits-fixture.ts';
import type { OrchProcess } from './orch-process.ts';

export interface KubectlResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Why tests with the real client cannot run here; undefined where they can. */
export const kubectlMissing: string | undefined =
  spawnSync('kubectl', ['version', '--client']).status === 0 ? undefined : 'kubectl is not installed';

/** Runs the real client to its end. */
export function kubectl(
  server: OrchProcess,
  args: readonly string[],
  options: { readonly input?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<KubectlResult> {
  return new Promise((resolve) => {
    const child = execFile(
      'kubectl',
      ['--kubeconfig', server.kubeconfig, ...args],
      { timeout: 60_000, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, HOME: server.dataDir, ...options.env } },
      (error, out, err) => resolve({ code: error ? Number(error.code ?? 1) : 0, out, err }),
    );
    child.stdin?.on('error', () => {}); // the client may end before it has read everything
    child.stdin?.end(options.input ?? '');
  });
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
