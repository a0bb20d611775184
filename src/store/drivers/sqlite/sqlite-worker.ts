/** The thread that owns a data file. Executes calls one at a time; ends when the store has closed the file. */
import { parentPort } from 'node:worker_threads';
import { SqliteLogFile } from './log-file.ts';
import { serveCalls } from './worker-calls.ts';

if (parentPort) serveCalls(parentPort, new SqliteLogFile());
