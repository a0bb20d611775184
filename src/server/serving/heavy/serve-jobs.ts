import type { MessagePort } from 'node:worker_threads';
import { StatusError } from '../../../meta/status-error.ts';
import { type Annotator, AuditAnnotations } from '../../../request/audit-annotations.ts';
import { fromFailure, toFailure } from './failure.ts';
import { type FromThread, type JobAnnotation, movable, type Outcome, type ToThread } from './messages.ts';

/** The interface of a job to the main thread. */
export interface JobContext extends Annotator {
  /** Aborts when nobody waits for the job any more. */
  readonly signal: AbortSignal;
  /** Rejects with the main thread's error. */
  call(name: string, input: unknown): Promise<unknown>;
  /** Adds a `Warning` header to the answer. */
  warn(text: string): void;
}

export type Job = (input: unknown, context: JobContext) => Promise<unknown> | unknown;

interface RunningJob {
  readonly abort: AbortController;
  /** Handlers of the main thread's answers, by call. */
  readonly waiting: Map<number, (outcome: Outcome) => void>;
}

/** The worker's side: runs jobs concurrently; a job that waits for the main thread does not block others. */
export function serveJobs(port: MessagePort, jobs: Readonly<Record<string, Job>>): void {
  const running = new Map<number, RunningJob>();
  let calls = 0;
  const send = (message: FromThread, value: unknown): void => port.postMessage(message, movable(value));
  const run = async (job: number, name: string, input: unknown): Promise<void> => {
    const { abort, waiting }: RunningJob = { abort: new AbortController(), waiting: new Map() };
    running.set(job, { abort, waiting });
    const warnings: string[] = [];
    const annotations = { always: new AuditAnnotations(), Request: new AuditAnnotations() };
    const context: JobContext = {
      signal: abort.signal,
      call: (called, sent) => {
        const call = ++calls;
        send({ type: 'call', job, call, name: called, input: sent }, sent);
        return new Promise((resolve, reject) => {
          waiting.set(call, (outcome) =>
            'failure' in outcome ? reject(fromFailure(outcome.failure)) : resolve(outcome.value),
          );
        });
      },
      annotate: (key, value, from) => annotations[from ?? 'always'].annotate(key, value),
      warn: (text) => warnings.push(text),
    };
    let outcome: Outcome;
    try {
      const work = jobs[name];
      if (!work) throw new Error(`there is no job ${name}`);
      outcome = { value: await work(input, context) };
    } catch (error) {
      outcome = { failure: toFailure(error) };
    }
    running.delete(job);
    const value = 'value' in outcome ? outcome.value : undefined;
    send({ type: 'done', job, outcome, warnings, annotations: marked(annotations) }, value);
  };
  port.on('message', (message: ToThread) => {
    switch (message.type) {
      case 'job':
        void run(message.job, message.name, message.input);
        return;
      case 'abort':
        running.get(message.job)?.abort.abort(new StatusError('Timeout', 'the request has ended'));
        return;
      case 'answer': {
        const { waiting } = running.get(message.job) ?? {};
        const take = waiting?.get(message.call);
        waiting?.delete(message.call);
        take?.(message.outcome);
      }
    }
  });
  send({ type: 'ready' }, undefined);
}

const marked = (annotations: {
  readonly always: AuditAnnotations;
  readonly Request: AuditAnnotations;
}): readonly JobAnnotation[] => [
  ...annotations.always,
  ...Array.from(annotations.Request, ([key, value]): JobAnnotation => [key, value, 'Request']),
];
