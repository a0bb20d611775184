/** Entry point of the thread for heavy work. */
import { parentPort } from 'node:worker_threads';
import { kinds } from '../../../kinds/kinds.ts';
import { jobsOf } from './jobs.ts';
import { serveJobs } from './serve-jobs.ts';

if (parentPort) serveJobs(parentPort, jobsOf(kinds));
