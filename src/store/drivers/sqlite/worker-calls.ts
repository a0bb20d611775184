/** Calls from the store to the LogFile on its worker. ArrayBuffers are transferred, not copied, in both directions. */
import type { MessagePort, Worker } from 'node:worker_threads';
import { StoreError } from '../../store.ts';
import type { LogFile } from './log-file.ts';
import { toStoreError } from './sqlite-error.ts';

interface Call {
  readonly id: number;
  readonly name: keyof LogFile;
  readonly args: readonly unknown[];
}

/** A StoreError in transit: structured clone does not preserve classes. */
interface Failure {
  readonly code: StoreError['code'];
  readonly message: string;
}

type Answer = { readonly id: number; readonly result: unknown } | { readonly id: number; readonly failure: Failure };

/** The worker's side. The port closes after the call `close`, which ends the thread. */
export const serveCalls = (port: MessagePort, target: LogFile): void => {
  port.on('message', ({ id, name, args }: Call) => {
    const answer = answerTo(target, { id, name, args });
    port.postMessage(answer, 'result' in answer ? buffersOf([answer.result]) : []);
    if (name === 'close') port.close();
  });
};

const answerTo = (target: LogFile, { id, name, args }: Call): Answer => {
  try {
    const method = target[name] as (...args: readonly unknown[]) => unknown;
    return { id, result: method.apply(target, [...args]) };
  } catch (error) {
    const { code, message } = toStoreError(error, 'the data file');
    return { id, failure: { code, message } };
  }
};

interface Waiting {
  readonly name: keyof LogFile;
  resolve(result: unknown): void;
  reject(error: StoreError): void;
}

/** The store's side. Answers arrive in the order of the calls. */
export class WorkerCalls {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  #lastId = 0;
  #death: StoreError | undefined;
  #ending = false;

  /** `died` is called once if the worker ends before `end` was called. */
  constructor(worker: Worker, died: (error: StoreError) => void) {
    this.#worker = worker;
    worker.on('message', (answer: Answer) => this.#settle(answer));
    worker.on('error', (error: unknown) => this.#die(`failed: ${String(error)}`, died, error));
    this.#ended = new Promise((resolve) => {
      worker.on('exit', (code) => {
        this.#die(`ended with code ${code}`, died);
        resolve();
      });
    });
  }

  /**
   * Rejects with the StoreError that the call threw, or with `unavailable` if the worker ended first; a commit already
   * sent to the worker is then `unknownOutcome`.
   */
  call<Name extends keyof LogFile>(name: Name, ...args: Parameters<LogFile[Name]>): Promise<ReturnType<LogFile[Name]>> {
    if (this.#death) return Promise.reject(this.#death);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { name, resolve: (result) => resolve(result as ReturnType<LogFile[Name]>), reject });
      this.#worker.postMessage({ id, name, args } satisfies Call, buffersOf(args));
    });
  }

  /** Closes the file after the pending calls, and resolves when the thread has ended. Never rejects. */
  async end(): Promise<void> {
    this.#ending = true;
    const closing = this.#death ? undefined : this.call('close');
    // A failure to close cannot be repaired here: acknowledged writes are in the write-ahead log.
    await closing?.catch(() => this.#worker.terminate());
    await this.#ended;
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ('failure' in answer) waiting?.reject(new StoreError(answer.failure.code, answer.failure.message));
    else waiting?.resolve(answer.result);
  }

  #die(reason: string, died: (error: StoreError) => void, cause?: unknown): void {
    if (this.#death) return;
    this.#death = new StoreError('unavailable', `the thread that owns the data file ${reason}`, { cause });
    const inDoubt = new StoreError('unknownOutcome', this.#death.message, { cause });
    for (const { name, reject } of this.#waiting.values()) reject(name === 'commit' ? inDoubt : this.#death);
    this.#waiting.clear();
    if (!this.#ending) died(this.#death);
  }
}

const buffersOf = (values: readonly unknown[]): ArrayBuffer[] => values.filter((value) => value instanceof ArrayBuffer);
