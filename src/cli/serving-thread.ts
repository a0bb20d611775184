/** A serving thread: runs the command line of the process as one of several servers. */
import { enableCompileCache } from 'node:module';
import { workerData } from 'node:worker_threads';
import type { SeatData } from '../server/threads/thread-messages.ts';

/** What the main thread hands over. */
export interface ServingThreadData {
  readonly args: readonly string[];
  readonly seat: SeatData;
  /** Where the process keeps compiled code; threads do not know by themselves. */
  readonly compileCache: string | undefined;
}

const { args, seat: data, compileCache } = workerData as ServingThreadData;
// Before anything else is loaded.
if (compileCache !== undefined) enableCompileCache(compileCache);
const [{ ThreadSeat }, { runCommandLine }] = [
  await import('../server/threads/thread-seat.ts'),
  await import('./run-command-line.ts'),
];
const seat = new ThreadSeat(data);
const code = await runCommandLine(args, {
  out: () => {},
  err: seat.log,
  interactive: false,
  threads: { type: 'serving', seat },
});
process.exit(code);
