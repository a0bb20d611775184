import { Worker } from 'node:worker_threads';
import { FairQueue } from '../../../base/collections/fair-queue.ts';
import { getOrAdd } from '../../../base/collections/get-or-add.ts';
import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { StatusError, serviceUnavailable, unknownOutcome } from '../../../meta/status-error.ts';
import { FairShare, type Holding } from '../flow-control/fair-share.ts';
import { fromFailure, toFailure } from './failure.ts';
import { type FromThread, type JobAnnotation, movable, type Outcome, type ToThread } from './messages.ts';

interface JobThreadOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly startWorker: () => Worker;
}

/** A job, and the calls it may make on this side. */
export interface JobRequest {
  readonly name: string;
  /** The tenant of the job; tenants are served round-robin. */
  readonly owner: unknown;
  /** Built when the job starts. Its bytes are transferred to the thread. */
  readonly input: () => unknown;
  /** Size of the job's input, counted against the limit of concurrent bytes. */
  readonly bytes: number;
  readonly calls: Readonly<Record<string, (input: never) => unknown>>;
  /** Calls that ask somebody else: others run while the job waits for one. Refused with TooManyRequests if too many do. */
  readonly asks?: ReadonlySet<string>;
  /** Calls that write: if the job is lost after one of them, its outcome is unknown. */
  readonly commits?: ReadonlySet<string>;
  /** Exempt from the limit of waiting jobs: the caller limits them itself, and nothing is held meanwhile. */
  readonly patient?: boolean;
  /** Aborted jobs are not started; running ones are notified. */
  readonly signal?: AbortSignal;
  annotate?(...annotation: JobAnnotation): void;
  warn(text: string): void;
}

interface RunningJob {
  readonly request: JobRequest;
  readonly id: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Set if the thread was lost while the job ran with others: it is retried alone to find the culprit. */
  alone: boolean;
  /** Calls in progress on this side; 0 while the thread is working. */
  callsHere: number;
  committing: boolean;
  /** Calls in progress that ask somebody else: the job counts among those that wait, not those that run. */
  asking: number;
  /** Removes the job's listener from its signal. */
  unlisten: () => void;
}

/**
 * The main thread's side of the heavy-work thread, which starts with the first job and ends after a period of idleness.
 * Jobs queue round-robin by owner; the number of concurrent jobs, their bytes and the thread's memory are bounded. A
 * thread that runs out of memory, or is silent for too long while it has work, is terminated: its jobs are retried one
 * at a time, and a job that was alone on a lost thread is refused. A job that may have written is not retried: its
 * outcome is unknown.
 */
export class JobThread implements Closable {
  readonly #options: JobThreadOptions;
  readonly #running = new Map<number, RunningJob>();
  readonly #waiting = new FairQueue<unknown, RunningJob>();
  /** Jobs of a lost thread, to be retried before waiting ones. */
  #again: RunningJob[] = [];
  #worker: Worker | undefined;
  /** Number of patient jobs among the waiting ones. */
  #patient = 0;
  /** Jobs that run and do not wait for somebody else, and their bytes. */
  #active = 0;
  #bytes = 0;
  /** Bytes of the other ones, by owner. */
  readonly #asking = new Map<unknown, Holding>();
  readonly #bytesAsking = new FairShare(limits.heavyBytesWaitingMax);
  #lastJob = 0;
  #heardAt = 0;
  /** The thread has loaded its code: on a busy machine that may take longer than it may be silent. */
  #isReady = false;
  #timer: Closable | undefined;
  #closed = false;

  constructor(options: JobThreadOptions) {
    this.#options = options;
  }

  /** Jobs waiting or running. */
  get size(): number {
    return this.#again.length + this.#waiting.size + this.#running.size;
  }

  /** Rejects with the job's error, or with TooManyRequests if too many jobs wait. */
  run(request: JobRequest): Promise<unknown> {
    if (this.#closed) return Promise.reject(serviceUnavailable('the server is stopping'));
    // Fair share: an owner may have no more jobs waiting than there is room left for others.
    const room = limits.heavyJobsWaitingMax - (this.#waiting.size - this.#patient);
    if (!request.patient && this.#waiting.sizeOf(request.owner) >= room) return Promise.reject(tooMany());
    if (request.patient) this.#patient += 1;
    return new Promise((resolve, reject) => {
      const id = ++this.#lastJob;
      const job = {
        request,
        id,
        resolve,
        reject,
        alone: false,
        callsHere: 0,
        committing: false,
        asking: 0,
        unlisten() {},
      };
      this.#waiting.add(request.owner, job);
      this.#next();
    });
  }

  #next(): void {
    for (let job = this.#first(); job && this.#hasRoomFor(job); job = this.#first()) {
      this.#takeOut(job);
      if (job.request.signal?.aborted) job.reject(job.request.signal.reason);
      else this.#start(job);
    }
  }

  #first(): RunningJob | undefined {
    return this.#again[0] ?? this.#waiting.first();
  }

  #takeOut(job: RunningJob): void {
    if (this.#again[0] === job) {
      this.#again.shift();
      return;
    }
    this.#waiting.passTurn();
    this.#waiting.delete(job.request.owner, job);
    if (job.request.patient) this.#patient -= 1;
  }

  #hasRoomFor({ request, alone }: RunningJob): boolean {
    if (this.#running.size === 0) return true;
    if (alone) return false;
    for (const other of this.#running.values()) if (other.alone) return false;
    if (this.#active === 0) return true;
    return this.#active < limits.heavyJobsAtOnceMax && this.#bytes + request.bytes <= limits.heavyBytesAtOnceMax;
  }

  #start(job: RunningJob): void {
    let input: unknown;
    try {
      input = job.request.input();
    } catch (error) {
      job.reject(error);
      return;
    }
    this.#noteTurn();
    if (this.#running.size === 0) this.#stopWatching();
    this.#running.set(job.id, job);
    this.#activate(job);
    this.#worker ??= this.#open();
    this.#post({ type: 'job', job: job.id, name: job.request.name, input }, input);
    this.#watch();
    job.unlisten = this.#listen(job);
  }

  #listen({ id, request: { signal } }: RunningJob): () => void {
    const abort = (): void => this.#post({ type: 'abort', job: id }, undefined);
    signal?.addEventListener('abort', abort, { once: true });
    return () => signal?.removeEventListener('abort', abort);
  }

  #open(): Worker {
    const worker = this.#options.startWorker();
    this.#isReady = false;
    worker.on('message', (message: FromThread) => {
      if (worker === this.#worker) this.#receive(message);
    });
    worker.on('error', (error: unknown) => this.#lose(worker, error));
    worker.on('exit', (code) => this.#lose(worker, new Error(`the thread ended with code ${code}`)));
    // The listener keeps the process alive; the worker need not. After the listeners: one for messages takes it back.
    worker.unref();
    return worker;
  }

  /** Restarts the silence timer of an idle thread. Call before giving it work. */
  #noteTurn(): void {
    if (!this.#hasWork()) this.#heard();
  }

  #hasWork(): boolean {
    return [...this.#running.values()].some(({ callsHere }) => callsHere === 0);
  }

  #post(message: ToThread, value: unknown): void {
    this.#worker?.postMessage(message, movable(value));
  }

  #heard(): void {
    this.#heardAt = this.#options.clock.monotonic();
  }

  #receive(message: FromThread): void {
    this.#heard();
    this.#isReady = true;
    if (message.type === 'ready') return;
    const job = this.#running.get(message.job);
    if (!job) return;
    if (message.type === 'call') void this.#answer(job, message.call, message.name, message.input);
    else this.#finish(job, message);
  }

  async #answer(job: RunningJob, call: number, name: string, input: unknown): Promise<void> {
    job.callsHere++;
    if (job.request.commits?.has(name)) job.committing = true;
    const worker = this.#worker;
    let outcome: Outcome;
    let asks = false;
    try {
      const handler = job.request.calls[name];
      if (!handler) throw new Error(`a job calls ${name}, which is not there`);
      if (job.request.asks?.has(name)) {
        this.#beginAsking(job);
        asks = true;
      }
      outcome = { value: await handler(input as never) };
    } catch (error) {
      outcome = { failure: toFailure(error) };
    }
    if (worker !== this.#worker || !this.#running.has(job.id)) return;
    if (asks) this.#endAsking(job);
    this.#noteTurn();
    this.#post({ type: 'answer', job: job.id, call, outcome }, 'value' in outcome ? outcome.value : undefined);
    job.callsHere--;
  }

  /** Lets others run until the answer has come. */
  #beginAsking(job: RunningJob): void {
    if (job.asking === 0) {
      const { owner, bytes } = job.request;
      const holding = getOrAdd(this.#asking, owner, () => ({ held: 0 }));
      if (!this.#bytesAsking.take(holding, bytes)) throw tooMany();
      this.#deactivate(job);
    }
    job.asking += 1;
    this.#next();
  }

  #endAsking(job: RunningJob): void {
    job.asking -= 1;
    if (job.asking > 0) return;
    this.#forgetAsking(job);
    this.#activate(job);
  }

  #forgetAsking({ request: { owner, bytes } }: RunningJob): void {
    const holding = this.#asking.get(owner);
    if (!holding) return;
    this.#bytesAsking.release(holding, bytes);
    if (holding.held === 0) this.#asking.delete(owner);
  }

  #activate({ request }: RunningJob): void {
    this.#active += 1;
    this.#bytes += request.bytes;
  }

  #deactivate({ request }: RunningJob): void {
    this.#active -= 1;
    this.#bytes -= request.bytes;
  }

  #finish(job: RunningJob, { outcome, warnings, annotations }: Extract<FromThread, { type: 'done' }>): void {
    this.#leave(job);
    const { request } = job;
    for (const text of warnings) request.warn(text);
    for (const annotation of annotations) request.annotate?.(...annotation);
    if ('failure' in outcome)
      job.reject(request.signal?.aborted ? request.signal.reason : fromFailure(outcome.failure));
    else job.resolve(outcome.value);
    this.#next();
    this.#watch();
  }

  #leave(job: RunningJob): void {
    job.unlisten();
    this.#running.delete(job.id);
    if (job.asking > 0) this.#forgetAsking(job);
    else this.#deactivate(job);
    job.asking = 0;
  }

  /** One timer for both silence and idleness. */
  #watch(): void {
    if (this.#timer || this.#closed || !this.#worker) return;
    const delayMs = this.#running.size > 0 ? limits.heavySilenceMsMax / 4 : limits.heavyIdleMs;
    const idle = this.#running.size === 0;
    const last = this.#lastJob;
    this.#timer = this.#options.clock.after(delayMs, () => {
      this.#timer = undefined;
      if (idle && last === this.#lastJob && this.#running.size === 0) this.#end();
      else if (this.#isStuck()) this.#worker && this.#lose(this.#worker, new Error('the thread is silent'));
      this.#watch();
    });
  }

  #stopWatching(): void {
    this.#timer?.close();
    this.#timer = undefined;
  }

  #isStuck(): boolean {
    const silenceMsMax = this.#isReady ? limits.heavySilenceMsMax : limits.heavyStartMsMax;
    return this.#hasWork() && this.#options.clock.monotonic() - this.#heardAt >= silenceMsMax;
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }

  #lose(worker: Worker, cause: unknown): void {
    if (worker !== this.#worker) return;
    const wasReady = this.#isReady;
    this.#end();
    const lost = [...this.#running.values()];
    if (this.#closed) return;
    this.#options.logger.warn('the thread for heavy work was lost', { jobs: lost.length, error: String(cause) });
    const again: RunningJob[] = [];
    for (const job of lost) {
      this.#leave(job);
      if (job.committing) job.reject(outcomeUnknown());
      else if (!wasReady) job.reject(serviceUnavailable('the thread for large requests could not be started'));
      else if (lost.length === 1) job.reject(tooHeavy());
      else again.push(Object.assign(job, { alone: true, callsHere: 0 }));
    }
    this.#again = [...again, ...this.#again];
    this.#next();
  }

  /** Rejects all waiting and running jobs. */
  close(): void {
    this.#closed = true;
    for (const job of this.#running.values()) job.unlisten();
    this.#timer?.close();
    this.#end();
    for (const job of [...this.#running.values(), ...this.#again, ...this.#waiting]) {
      this.#waiting.delete(job.request.owner, job);
      job.reject(job.committing ? outcomeUnknown() : serviceUnavailable('the server is stopping'));
    }
    this.#running.clear();
    this.#again = [];
  }
}

/** The worker's entry point is beside this module in the source tree, and beside the bundle in the package. */
export function startHeavyWorker(): Worker {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new Worker(new URL(`./heavy-worker.${extension}`, import.meta.url), {
    name: 'heavy',
    // Process flags that only fit the main entry point, such as --input-type, would prevent the worker from starting.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: limits.heavyHeapMiB, maxYoungGenerationSizeMb: 64 },
  });
}

const tooMany = (): StatusError =>
  new StatusError('TooManyRequests', 'Too many large requests, please try again later.', {
    details: { retryAfterSeconds: 1 },
  });

const tooHeavy = (): StatusError =>
  new StatusError('RequestEntityTooLarge', 'the request takes more time or memory than one request may have');

const outcomeUnknown = (): StatusError => unknownOutcome('the work on the request was cut off');
