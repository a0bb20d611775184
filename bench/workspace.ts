import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { within } from './within.ts';

interface SpawnOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Give the child a channel for messages that may hold bytes. */
  readonly messages?: boolean;
}

/** What a stopped child may take to end in order, before it is killed. */
const stopMsMax = 10_000;

/** The only place where the bench leaves anything: a directory and child processes, gone when the process ends, however it does. */
export class Workspace {
  readonly directory = mkdtempSync(join(tmpdir(), 'orch-bench-'));
  readonly #children = new Set<ChildProcess>();
  #directories = 0;

  constructor() {
    process.on('exit', () => this.#clear());
  }

  /** A name for a directory that does not exist yet. */
  freshPath(name: string): string {
    this.#directories += 1;
    return join(this.directory, `${name}-${this.#directories}`);
  }

  spawn({ command, args, env = {}, messages = false }: SpawnOptions): ChildProcess {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe', ...(messages ? (['ipc'] as const) : [])],
      serialization: 'advanced',
      env: { ...process.env, ...env },
    });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }

  /** Ends a child with SIGTERM, or by force where it does not listen. */
  async stop(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    try {
      await within(ended, stopMsMax, 'stopping a child process');
    } catch {
      child.kill('SIGKILL');
      await ended;
    }
  }

  /** Runs while the process ends, so it waits for nothing. */
  #clear(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 3 });
  }
}
