import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ConnectOptions } from './http2-client.ts';
import { within } from './within.ts';

const answerMsMax = 120_000;

/** Somebody else, who asks little and often: how long they wait beside what is measured. */
export class Probe implements AsyncDisposable {
  readonly #worker: Worker;

  constructor(options: ConnectOptions) {
    const { port, ca, cert, key } = options;
    this.#worker = new Worker(new URL('./probe-worker.ts', import.meta.url), { workerData: { port, ca, cert, key } });
  }

  /** The longest wait while `run` runs, in milliseconds. */
  async longestDuring(run: () => Promise<unknown>): Promise<number> {
    await this.#longest();
    await run();
    return this.#longest();
  }

  async #longest(): Promise<number> {
    this.#worker.postMessage('longest');
    const [longestMs] = await within(once(this.#worker, 'message'), answerMsMax, 'a probe');
    return longestMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
