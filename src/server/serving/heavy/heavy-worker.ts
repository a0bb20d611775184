/** The thread for heavy work. */
import { parentPort } from 'node:worker_threads';
import { jobs } from './jobs.ts';
import { serveJobs } from './serve-jobs.ts';

if (parentPort) serveJobs(parentPort, jobs);
