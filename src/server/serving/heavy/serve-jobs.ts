import type { MessagePort } from 'node:worker_threads';
import { fromFailure, toFailure } from './failure.ts';
import { type FromThread, movable, type Outcome, type ToThread } from './messages.ts';

/** What a job may ask of the main thread. */
export interface JobContext {
  /** Rejects with the error of the main thread. */
  call(name: string, input: unknown): Promise<unknown>;
  /** Adds a `Warning` header to the answer. */
  warn(text: string): void;
}

export type Job = (input: unknown, context: JobContext) => Promise<unknown> | unknown;

/** The thread's side: runs what it is given. Jobs that wait for the main thread let others run. */
export function serveJobs(port: MessagePort, jobs: Readonly<Record<string, Job>>): void {
  const waiting = new Map<string, (outcome: Outcome) => void>();
  let calls = 0;
  const send = (message: FromThread, value: unknown): void => port.postMessage(message, movable(value));
  const context = (job: number, warnings: string[]): JobContext => ({
    call: (name, input) => {
      const call = ++calls;
      send({ type: 'call', job, call, name, input }, input);
      return new Promise((resolve, reject) => {
        waiting.set(`${job} ${call}`, (outcome) =>
          'failure' in outcome ? reject(fromFailure(outcome.failure)) : resolve(outcome.value),
        );
      });
    },
    warn: (text) => warnings.push(text),
  });
  const run = async (job: number, name: string, input: unknown): Promise<void> => {
    const warnings: string[] = [];
    let outcome: Outcome;
    try {
      const work = jobs[name];
      if (!work) throw new Error(`there is no job ${name}`);
      outcome = { value: await work(input, context(job, warnings)) };
    } catch (error) {
      outcome = { failure: toFailure(error) };
    }
    send({ type: 'done', job, outcome, warnings }, 'value' in outcome ? outcome.value : undefined);
  };
  port.on('message', (message: ToThread) => {
    if (message.type === 'job') {
      void run(message.job, message.name, message.input);
      return;
    }
    const key = `${message.job} ${message.call}`;
    waiting.get(key)?.(message.outcome);
    waiting.delete(key);
  });
}
