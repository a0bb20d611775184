import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { type ClientCommand, type ClientRun, cacheFolder } from './official-clients.ts';
import { OrchProcess } from './orch-process.ts';

/** The steps of a program, in their order: ../clients/official/README.md. */
export const steps = [
  'discovery',
  'create',
  'get',
  'update',
  'conflict',
  'patch',
  'apply',
  'list',
  'pagination',
  'watch',
  'token-request',
  'access-review',
  'ready-for-restart',
  'restart',
  'delete',
  'errors',
] as const;

/** What a program printed of a step. */
export interface StepLine {
  readonly step: string;
  readonly ok: boolean;
  readonly error?: string;
  /** What the client library has not. */
  readonly note?: string;
}

/** Above the time of one step, which the program itself has to keep. */
const lineMsMax = 90_000;
const endMsMax = 15_000;
const buildMsMax = 12 * 60_000;

interface CommandResult {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a command of a build to its end. Rejects where there is no such program. */
export async function runCommand({ command, args, env }: ClientCommand, folder: string): Promise<CommandResult> {
  mkdirSync(cacheFolder, { recursive: true });
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...process.env, ORCH_CLIENTS_CACHE: cacheFolder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: buildMsMax,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
    });
  }
  const [code] = await once(child, 'close');
  return { code, output };
}

interface ScriptResult {
  readonly lines: readonly StepLine[];
  readonly code: number | null;
  readonly standardError: string;
}

/** Runs a program against a server of its own, which is restarted under it. */
export async function runScript({ run, serverFlags = [] }: ClientRun, folder: string): Promise<ScriptResult> {
  await using server = await OrchProcess.start({ flags: ['--dialect=kubernetes', ...serverFlags] });
  const namespace = 'official-client';
  const made = await server.post('/api/v1/namespaces', { metadata: { name: namespace } });
  assert.equal(made.status, 201);
  using program = new RunningProgram<StepLine>(run, {
    folder,
    env: { KUBECONFIG: server.kubeconfig, NAMESPACE: namespace },
  });
  const lines: StepLine[] = [];
  for (;;) {
    const line = await program.nextLine();
    if (line === undefined) break;
    lines.push(line);
    if (line.step !== 'ready-for-restart') continue;
    await server.stop();
    await server.restart();
    const metadata = { name: 'harness-after-restart' };
    const created = await server.post(`/api/v1/namespaces/${namespace}/configmaps`, { metadata });
    assert.equal(created.status, 201);
    program.tell(`restarted ${metadata.name}`);
  }
  return { lines, code: await program.end(), standardError: program.standardError };
}

interface ProgramOptions {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A program that prints a line of JSON for each thing it has to tell. */
export class RunningProgram<Line> implements Disposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #closed: Promise<unknown>;
  #err = '';
  #last = 'its start';

  constructor({ command, args, env }: ClientCommand, options: ProgramOptions) {
    const child = spawn(command, args, {
      cwd: options.folder,
      env: { ...process.env, ORCH_CLIENTS_CACHE: cacheFolder, ...env, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stdin.on('error', () => {}); // it has ended: its missing lines say so
    child.stderr.on('data', (chunk) => {
      this.#err += chunk;
    });
    this.#closed = once(child, 'close');
    this.#closed.catch(() => {}); // seen by `end`
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** What it prints next; undefined once it prints no more. */
  async nextLine(): Promise<Line | undefined> {
    const { value, done } = await within(
      this.#lines.next(),
      lineMsMax,
      () => `it prints nothing after ${this.#last}:\n${this.#err}`,
    );
    if (done) return undefined;
    this.#last = value;
    return JSON.parse(value);
  }

  /** The one line of its standard input, which ends with it. */
  tell(line: string): void {
    this.#child.stdin?.end(`${line}\n`);
  }

  /** Ends its standard input, and waits for it. */
  async end(): Promise<number | null> {
    this.#child.stdin?.end();
    await within(this.#closed, endMsMax, () => `it does not end:\n${this.#err}`);
    return this.#child.exitCode;
  }

  get standardError(): string {
    return this.#err;
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
  }
}

async function within<T>(promise: Promise<T>, ms: number, what: () => string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`after ${ms / 1_000} s: ${what()}`)), ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
