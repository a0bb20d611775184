/** Entry point of the thread for heavy work. */
import { parentPort } from 'node:worker_threads';
import { limits } from '../../../base/limits.ts';
import { keepSchemaParts } from '../../../kinds/custom/defined-schemas.ts';
import { kinds } from '../../../kinds/kinds.ts';
import { jobsOf } from './jobs.ts';
import { serveJobs } from './serve-jobs.ts';

if (parentPort) {
  keepSchemaParts(limits.heavySchemaPartsMax);
  serveJobs(parentPort, jobsOf(kinds));
}
