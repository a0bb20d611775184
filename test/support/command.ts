import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import https from 'node:https';
import { resolve } from 'node:path';
import { within } from '../../src/base/waits-fixture.ts';

const launcher = resolve(import.meta.dirname, '../../bin/orch');

/** Several programs with controllers run at once: each has its port only in a test that names one. */
const withoutPort = (args: readonly string[]): readonly string[] =>
  args[0] === 'controller-manager' && !args.some((each) => each.startsWith('--secure-port')) ? ['--secure-port=0'] : [];

/** One run of `bin/orch`, from any command to its end. Killed, if it still runs, when it goes out of scope. */
export class Command implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  out = '';
  err = '';
  #changed = Promise.withResolvers<void>();

  constructor(...args: readonly string[]) {
    this.#child = spawn(launcher, [...args, ...withoutPort(args)], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child.stdout?.on('data', (chunk) => this.#note('out', chunk));
    this.#child.stderr?.on('data', (chunk) => this.#note('err', chunk));
    this.#ended = once(this.#child, 'close').then(() => this.#changed.resolve());
  }

  #note(stream: 'out' | 'err', chunk: Buffer): void {
    this[stream] += chunk;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The exit code once it has ended; null where a signal ended it. */
  async exit(): Promise<number | null> {
    await within(this.#ended, () => `it does not end:\n${this.out}${this.err}`);
    return this.#child.exitCode;
  }

  /** Waits for what is printed, on either stream; fails when the command ends without it. */
  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.out) ?? pattern.exec(this.err);
      if (found) return found;
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        await this.#ended;
        const last = pattern.exec(this.out) ?? pattern.exec(this.err);
        if (last) return last;
        throw new Error(`ended without printing ${pattern}:\n${this.out}${this.err}`);
      }
      await within(
        Promise.race([this.#changed.promise, this.#ended]),
        () => `it does not print ${pattern}:\n${this.out}${this.err}`,
      );
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

/** The status of one GET, on a connection of its own. Rejects where there is no connection. */
export function getStatus(url: string, options: https.RequestOptions = {}): Promise<number> {
  const { promise, resolve: done, reject } = Promise.withResolvers<number>();
  const request = https.get(url, { agent: false, ...options }, (response) => {
    response.resume();
    response.on('end', () => done(response.statusCode ?? 0));
  });
  request.on('error', reject);
  return promise;
}
