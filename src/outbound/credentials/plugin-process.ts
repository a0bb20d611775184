import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { CredentialPlugin } from '../connection-config.ts';
import { execCredentialRequest } from './exec-credential.ts';

/** The process that runs plugins. */
export interface PluginHost {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Standard input is a terminal that plugins may use. */
  readonly interactive: boolean;
  /** Receives the plugins' standard error as it arrives: it may contain instructions for the user. */
  readonly stderr: (text: string) => void;
}

interface RunOptions {
  readonly host: PluginHost;
  readonly clock: Clock;
  /** Kills the program. */
  readonly signal: AbortSignal;
}

/**
 * Runs a plugin, without a shell, and resolves to its standard output. Rejects if the program cannot be found,
 * exceeds its time or output limit, or exits with a code other than 0; the error never contains its output.
 */
export async function runPlugin(plugin: CredentialPlugin, { host, clock, signal }: RunOptions): Promise<Buffer> {
  signal.throwIfAborted();
  const interactive = mayInteract(plugin, host);
  const file = findExecutable(plugin.command, host.environment['PATH']);
  if (file === undefined) throw notFound(plugin);
  const run = supervise(start(plugin, file, host, interactive), host.stderr);
  const timer = clock.after(limits.pluginMsMax, () => run.stop(`it took longer than ${limits.pluginMsMax / 1000} s`));
  const abort = (): void => run.stop('it is not waited for any more');
  signal.addEventListener('abort', abort);
  try {
    return await run.output;
  } finally {
    timer.close();
    signal.removeEventListener('abort', abort);
  }
}

function mayInteract({ interactiveMode }: CredentialPlugin, { interactive }: PluginHost): boolean {
  if (interactiveMode === 'Always' && !interactive) {
    throw new Error('it needs standard input, which is no terminal here');
  }
  return interactive && interactiveMode !== 'Never';
}

function notFound({ command, installHint }: CredentialPlugin): Error {
  const hint = installHint === undefined ? '' : `\n\n${installHint}`;
  return new Error(`there is no executable ${JSON.stringify(command)}: is it installed?${hint}`);
}

/** Looks up a bare name on the PATH, whose relative directories are ignored: they depend on where the process runs. */
function findExecutable(command: string, searchPath = ''): string | undefined {
  if (isAbsolute(command)) return isExecutable(command) ? command : undefined;
  const directories = searchPath.split(delimiter).filter((directory) => isAbsolute(directory));
  return directories.map((directory) => join(directory, command)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function start(plugin: CredentialPlugin, file: string, host: PluginHost, interactive: boolean): ChildProcess {
  const own = Object.fromEntries(plugin.env.map(({ name, value }) => [name, value]));
  try {
    return spawn(file, plugin.args, {
      env: { ...host.environment, ...own, [plugin.variable]: execCredentialRequest(plugin, interactive) },
      stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'pipe'],
      windowsHide: true,
    });
  } catch (error) {
    throw cannotRun(error);
  }
}

/** Node's own error message contains the arguments. */
const cannotRun = (error: unknown): Error =>
  new Error(`it cannot be run: ${error instanceof Error && 'code' in error ? error.code : 'unknown error'}`);

interface Run {
  /** Settles when the program has exited and its output was read, or when it was stopped. */
  readonly output: Promise<Buffer>;
  stop(why: string): void;
}

function supervise(child: ChildProcess, stderr: PluginHost['stderr']): Run {
  const { promise: output, resolve, reject } = Promise.withResolvers<Buffer>();
  const stop = (why: string): void => {
    child.kill('SIGKILL');
    // The plugin's child processes may still hold them open.
    child.stdout?.destroy();
    child.stderr?.destroy();
    reject(new Error(why));
  };
  const chunks: Buffer[] = [];
  let size = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    size += chunk.length;
    chunks.push(chunk);
    if (size > limits.pluginOutputBytesMax) stop(`it wrote more than ${limits.pluginOutputBytesMax} bytes`);
  });
  child.stderr?.setEncoding('utf8').on('data', stderr);
  child.on('error', (error) => reject(cannotRun(error)));
  child.on('close', (code, endedBy) => {
    if (code === 0) resolve(Buffer.concat(chunks));
    else reject(new Error(code === null ? `it was ended by ${endedBy}` : `it ended with exit code ${code}`));
  });
  return { output, stop };
}
