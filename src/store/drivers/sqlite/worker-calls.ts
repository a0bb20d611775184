/** Calls from clients to the thread of a data file. ArrayBuffers are transferred, not copied, in both directions. */
import { MessagePort, type Transferable, type Worker } from 'node:worker_threads';
import { StoreError } from '../../store.ts';
import { type ClientCalls, type FileClient, FileClients, type FileNews } from './file-clients.ts';
import type { LogFile, LogFileOptions } from './log-file.ts';
import type { PackedRecords } from './packed-records.ts';
import { toStoreError } from './sqlite-error.ts';

interface Call {
  readonly id: number;
  readonly name: keyof ClientCalls;
  readonly args: readonly unknown[];
}

/** A StoreError in transit: structured clone does not preserve classes. */
interface Failure extends Pick<StoreError, 'code' | 'message' | 'revision'> {}

type Answer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failure: Failure }
  | { readonly news: FileNews };

/** The thread's side. The port closes after the call `close`, with those of other clients, which ends the thread. */
export const serveCalls = (port: MessagePort, file: LogFile): void => {
  const clients = new FileClients(file);
  serveClient(port, file, clients);
};

const serveClient = (port: MessagePort, file: LogFile, clients: FileClients): void => {
  const outbox = new Outbox(port);
  const send = (answer: Answer): void => outbox.add(answer);
  const client: FileClient = {
    answer: (id, result) => send({ id, result }),
    refuse(id, error) {
      const { code, message, revision } = toStoreError(error, 'the data file');
      send({ id, failure: { code, message, revision } });
    },
    tell: (news) => send({ news }),
    end: () => outbox.close(),
    reading: new Map(),
    follows: false,
  };
  const calls = callsOf(client, { file, clients, serve: (other) => serveClient(other, file, clients) });
  clients.add(client);
  port.on('message', ({ id, name, args }: Call) => {
    if (name === 'commit') {
      clients.commit(client, id, args[0] as ArrayBuffer);
      return;
    }
    clients.flush();
    try {
      const method = calls[name] as (...args: readonly unknown[]) => unknown;
      const result = method.apply(calls, [...args]);
      if (result instanceof Promise) {
        result.then(
          (later) => client.answer(id, later),
          (error: unknown) => client.refuse(id, error),
        );
      } else client.answer(id, result);
    } catch (error) {
      client.refuse(id, error);
    }
    if (name === 'close') clients.end();
    else if (name === 'leave') outbox.close();
  });
  port.on('close', () => clients.remove(client));
};

/** What a client is sent in one turn is one message: each message wakes a thread, which costs more than what most say. */
class Outbox {
  readonly #port: MessagePort;
  #answers: Answer[] = [];

  constructor(port: MessagePort) {
    this.#port = port;
  }

  add(answer: Answer): void {
    if (this.#answers.push(answer) === 1) queueMicrotask(() => this.#send());
  }

  close(): void {
    this.#send();
    this.#port.close();
  }

  #send(): void {
    const answers = this.#answers;
    if (answers.length === 0) return;
    this.#answers = [];
    this.#port.postMessage(
      answers,
      movable(answers.flatMap((answer) => ('result' in answer ? partsOf(answer.result) : []))),
    );
  }
}

interface CallParts {
  readonly file: LogFile;
  readonly clients: FileClients;
  readonly serve: (port: MessagePort) => void;
}

const callsOf = (client: FileClient, { file, clients, serve }: CallParts): Omit<ClientCalls, 'commit'> => ({
  open: (options: LogFileOptions) => clients.open(options),
  get: (key, at) => file.get(key, at),
  scan: (range, wanted) => clients.scan(range, wanted),
  count: (range, max) => file.count(range, max),
  history: (after) => file.history(after),
  size: () => file.size(),
  measureHistory: (after, upTo) => file.measureHistory(after, upTo),
  forget: (upTo) => clients.forget(client, upTo),
  sweep: () => clients.sweep(),
  vacuum: (pages) => file.vacuum(pages),
  holdReserve: () => file.holdReserve(),
  close: () => file.close(),
  admit: (port) => serve(port),
  join: () => clients.join(client),
  hold: (reading, at) => clients.hold(client, reading, at),
  release: (reading) => void client.reading.delete(reading),
  leave() {},
});

interface Waiting {
  readonly name: keyof ClientCalls;
  resolve(result: unknown): void;
  reject(error: StoreError): void;
}

interface WorkerCallsOptions {
  /** Called once if the thread, or the way to it, ends before `end` was called. */
  readonly died: (error: StoreError) => void;
  /** Called in order with the answers of calls. Default: nothing is told. */
  readonly news?: (news: FileNews) => void;
}

/** A client's side. Answers arrive in the order of the calls. */
export class WorkerCalls {
  /** The thread, for the client that started it; otherwise the port at which it lets another client in. */
  readonly #peer: Worker | MessagePort;
  readonly #options: WorkerCallsOptions;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  #lastId = 0;
  #death: StoreError | undefined;
  #ending = false;

  constructor(peer: Worker | MessagePort, options: WorkerCallsOptions) {
    this.#peer = peer;
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ended = promise;
    const received = (answers: readonly Answer[]): void => {
      for (const answer of answers) this.#receive(answer);
    };
    const ended = (reason: string): void => {
      this.#die(reason);
      resolve();
    };
    if (peer instanceof MessagePort) peer.on('message', received).on('close', () => ended('has gone'));
    else {
      peer.on('message', received);
      peer.on('error', (error: unknown) => this.#die(`failed: ${String(error)}`, error));
      peer.on('exit', (code) => ended(`ended with code ${code}`));
    }
  }

  /**
   * Rejects with the StoreError that the call threw, or with `unavailable` if the worker ended first; a commit already
   * sent to the worker is then `unknownOutcome`.
   */
  call<Name extends keyof ClientCalls>(
    name: Name,
    ...args: Parameters<ClientCalls[Name]>
  ): Promise<Awaited<ReturnType<ClientCalls[Name]>>> {
    if (this.#death) return Promise.reject(this.#death);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, {
        name,
        resolve: (result) => resolve(result as Awaited<ReturnType<ClientCalls[Name]>>),
        reject,
      });
      this.#peer.postMessage({ id, name, args } satisfies Call, movable(args));
    });
  }

  /** Ends the client after the pending calls; the first one with the file and its thread. Never rejects. */
  async end(): Promise<void> {
    this.#ending = true;
    const peer = this.#peer;
    const isPort = peer instanceof MessagePort;
    const closing = this.#death ? undefined : this.call(isPort ? 'leave' : 'close');
    // A failure to close cannot be repaired here: acknowledged writes are in the write-ahead log.
    await closing?.catch(async () => void (isPort ? peer.close() : await peer.terminate()));
    await this.#ended;
  }

  #receive(answer: Answer): void {
    if ('news' in answer) {
      this.#options.news?.(answer.news);
      return;
    }
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ('failure' in answer) waiting?.reject(storeError(answer.failure));
    else waiting?.resolve(answer.result);
  }

  #die(reason: string, cause?: unknown): void {
    if (this.#death) return;
    this.#death = new StoreError('unavailable', `the thread that owns the data file ${reason}`, { cause });
    const inDoubt = new StoreError('unknownOutcome', this.#death.message, { cause });
    for (const { name, reject } of this.#waiting.values()) reject(name === 'commit' ? inDoubt : this.#death);
    this.#waiting.clear();
    if (!this.#ending) this.#options.died(this.#death);
  }
}

const storeError = ({ code, message, revision }: Failure): StoreError =>
  new StoreError(code, message, { ...(revision !== undefined && { revision }) });

/** What may be moved: the result itself, or the parts of packed records. */
const partsOf = (result: unknown): readonly unknown[] =>
  isPackedRecords(result) ? [result.table, ...result.slabs] : [result];

const isPackedRecords = (result: unknown): result is PackedRecords =>
  typeof result === 'object' && result !== null && 'slabs' in result;

const movable = (values: readonly unknown[]): Transferable[] =>
  values.filter((value) => value instanceof ArrayBuffer || value instanceof MessagePort);
