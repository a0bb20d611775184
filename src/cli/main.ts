import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { type Transferable, Worker } from 'node:worker_threads';
import type { SeatData } from '../server/threads/thread-messages.ts';
import { errorOutput } from './error-output.ts';
import { runCommandLine } from './run-command-line.ts';
import type { ServingThreadData } from './serving-thread.ts';

// A reader such as `head` may close our output early: that is no error.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const output = errorOutput();
const args = process.argv.slice(2);
const code = await runCommandLine(args, {
  out: (text) => void process.stdout.write(text),
  err: output.write,
  interactive: process.stderr.isTTY === true,
  threads: { type: 'main', start: (seat, transfer) => startThread(args, seat, transfer) },
});
await output.flush();
process.exit(code);

/** The thread's entry file is beside this module in the sources, and beside the bundle that contains this module. */
function startThread(args: readonly string[], seat: SeatData, transfer: readonly Transferable[]): Worker {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  // The directory of this version of Node.js and its flags lies in that which was chosen.
  const cache = getCompileCacheDir();
  const compileCache = cache === undefined ? undefined : dirname(cache);
  return new Worker(new URL(`./serving-thread.${extension}`, import.meta.url), {
    name: `serving ${seat.number}`,
    workerData: { args, seat, compileCache } satisfies ServingThreadData,
    transferList: [...transfer],
    execArgv: [],
  });
}
