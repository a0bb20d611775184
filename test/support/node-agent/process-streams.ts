import { spawn } from 'node:child_process';

/** Runs a program between the streams of a client, and tells how it ended as agents of nodes do. */

interface Streams {
  readonly stdin?: {
    readonly read: (on: { readonly data: (chunk: Buffer) => void; readonly end: () => void }) => void;
  };
  readonly stdout: (chunk: Buffer) => void;
  readonly stderr: (chunk: Buffer) => void;
  /** The Status of the end. */
  readonly ended: (status: string) => void;
}

export function runProgram(command: readonly string[], { stdin, stdout, stderr, ended }: Streams): void {
  const [program = 'true', ...args] = command;
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => {});
  child.stdout.on('data', stdout);
  child.stderr.on('data', stderr);
  child.on('error', (error) => ended(JSON.stringify({ metadata: {}, status: 'Failure', message: error.message })));
  child.on('close', (code) => ended(JSON.stringify(statusOf(code ?? 1))));
  if (stdin) stdin.read({ data: (chunk) => void child.stdin.write(chunk), end: () => void child.stdin.end() });
  else child.stdin.end();
}

const statusOf = (code: number) =>
  code === 0
    ? { metadata: {}, status: 'Success' }
    : {
        metadata: {},
        status: 'Failure',
        reason: 'NonZeroExitCode',
        message: `command terminated with non-zero exit code: exit status ${code}`,
        details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
      };
