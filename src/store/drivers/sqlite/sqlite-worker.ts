/** The thread that owns a data file. Runs one call after the other; ends when its store has closed it. */
import { parentPort } from 'node:worker_threads';
import { SqliteLogFile } from './log-file.ts';
import { serveCalls } from './worker-calls.ts';

if (parentPort) serveCalls(parentPort, new SqliteLogFile());
