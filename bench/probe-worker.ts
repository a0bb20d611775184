import { connect } from 'node:http2';
import { parentPort, workerData } from 'node:worker_threads';
import type { ConnectOptions } from './http2-client.ts';

/** Between two questions, and at least after an answer. Milliseconds. */
const pauseMs = 5;

/**
 * Asks `/livez` again and again on a connection of its own, and keeps the longest time until an answer. On a thread of its
 * own, so that what the bench does with heavy answers is not measured. Each message is answered with that time, in
 * milliseconds, which is then forgotten.
 */
const { port, ca, cert, key }: ConnectOptions = workerData;
const session = connect(`https://127.0.0.1:${port}`, { ca, ...(cert && key && { cert, key }) });
let longestMs = 0;
let askedAt: number | undefined;

function ask(): void {
  askedAt = performance.now();
  const stream = session.request({ ':path': '/livez' });
  stream.resume();
  stream.on('error', fail);
  stream.on('end', () => {
    longestMs = Math.max(longestMs, sinceAsked());
    askedAt = undefined;
    setTimeout(ask, pauseMs);
  });
}

const sinceAsked = (): number => (askedAt === undefined ? 0 : performance.now() - askedAt);

function fail(error: Error): void {
  throw error;
}

session.on('error', fail);
parentPort?.on('message', () => {
  // A question without an answer has waited that long at least.
  parentPort?.postMessage(Math.max(longestMs, sinceAsked()));
  longestMs = 0;
});
ask();
