/** A serving thread: runs the command line of the process as one of several servers. */
import { workerData } from 'node:worker_threads';
import type { SeatData } from '../server/threads/thread-messages.ts';
import { ThreadSeat } from '../server/threads/thread-seat.ts';
import { runCommandLine } from './run-command-line.ts';

const { args, seat: data } = workerData as { readonly args: readonly string[]; readonly seat: SeatData };
const seat = new ThreadSeat(data);
const code = await runCommandLine(args, {
  out: () => {},
  err: seat.log,
  interactive: false,
  threads: { type: 'serving', seat },
});
process.exit(code);
