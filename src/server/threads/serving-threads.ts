import type { MessagePort, Transferable, Worker } from 'node:worker_threads';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { LogOutput } from '../../base/log-output.ts';
import type { Logger } from '../../base/logger.ts';
import { countedByBoth, type MetricsState } from '../../base/metrics-state.ts';
import { Backoff } from '../../base/time/backoff.ts';
import { pause } from '../../base/time/clock.ts';
import { inTime } from '../../base/time/in-time.ts';
import type { KeyStretch, SharedPlaces } from '../../cache/sharing/shared-entries.ts';
import type { ListenAddress } from '../wiring/config.ts';
import type { Environment, LogConfig } from '../wiring/environment.ts';
import { outcomeOf, PendingCalls } from './calls.ts';
import { Heartbeats } from './heartbeat.ts';
import type { FromThread, LogChunk, MainCalls, SeatData, ThreadCalls, ToThread } from './thread-messages.ts';

export interface ServingThreadsOptions extends Pick<Environment, 'clock' | 'random' | 'openLog'> {
  readonly logger: Logger;
  readonly threads: number;
  /** 0: the first thread picks it. */
  readonly port: number;
  /** Starts a thread, whose `workerData` contains the seat. */
  readonly startThread: (seat: SeatData, transfer: readonly Transferable[]) => Worker;
  /** A way to the store for one thread; absent if each opens it by itself. */
  readonly connectStore?: () => MessagePort;
  /** Called with each line of the threads' logs. */
  readonly writeLog: (text: string) => void;
  /** Called once: the first thread listens, and is about to be ready. */
  readonly listening: (at: ListenAddress) => Promise<void>;
}

/** The threads could not start; the message is for the user. */
class ThreadsFailed extends Error {}

interface Seat {
  readonly number: number;
  worker: Worker | undefined;
  /** It serves. */
  isReady: boolean;
  /** Its last thread ended before it served. */
  cannotStart: boolean;
  /** Why it could not start. */
  failure: string | undefined;
  readonly calls: PendingCalls<ThreadCalls>;
  /** What it had counted when somebody asked last. */
  counted: MetricsState | undefined;
  /** Ends when the thread has. */
  ended: Promise<void>;
}

/**
 * The main thread of a process that serves with several: starts them, replaces one that dies, names the one that leads,
 * and does for all what only one can do. The first thread starts alone, and makes what the others find.
 */
export class ServingThreads {
  readonly #options: ServingThreadsOptions;
  readonly #seats: readonly Seat[];
  readonly #connections: SharedArrayBuffer;
  readonly #heartbeats: Heartbeats;
  readonly #stopping = new AbortController();
  readonly #done = Promise.withResolvers<void>();
  readonly #logs: { readonly config: string; readonly output: LogOutput }[] = [];
  #incarnations = 0;
  #leader: Seat | undefined;
  #listening: Promise<ListenAddress> | undefined;
  #port: number;
  /** What threads had counted that have gone. */
  #gone: MetricsState | undefined;
  #watching: Closable | undefined;

  constructor(options: ServingThreadsOptions) {
    this.#options = options;
    this.#port = options.port;
    this.#connections = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * options.threads);
    this.#heartbeats = new Heartbeats(options.threads);
    this.#seats = Array.from({ length: options.threads }, (_, number) => emptySeat(number));
    this.#done.promise.catch(() => {});
  }

  /** Resolves when all has stopped; rejects if no thread can serve. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** Resolves when the first thread serves; the others follow. Rejects with ThreadsFailed. */
  async start(): Promise<ListenAddress> {
    const [first, ...others] = this.#seats;
    if (!first) throw new RangeError('no threads');
    this.#watch();
    const at = await this.#occupy(first);
    if (!at) throw new ThreadsFailed(first.failure ?? 'a serving thread ended before it was ready');
    void this.#keep(first);
    for (const seat of others) void this.#occupy(seat).then(() => this.#keep(seat));
    return at;
  }

  /** Drains all threads. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the server stops'));
    for (const { worker, isReady } of this.#seats) {
      // One that starts beside others does not listen yet.
      if (isReady || this.#listening === undefined) worker?.postMessage({ type: 'stop' } satisfies ToThread);
      else await worker?.terminate();
    }
    await Promise.all(this.#seats.map(({ ended }) => ended));
    this.#watching?.close();
    await Promise.all(this.#logs.map(({ output }) => output.close()));
    this.#done.resolve();
  }

  /** Terminates threads whose event loop hangs, until `stop` has ended all. */
  #watch(): void {
    this.#watching = this.#options.clock.after(limits.threadBeatMs, () => {
      for (const seat of this.#seats) {
        const silenceMs = seat.isReady ? limits.threadSilenceMsMax : limits.threadStartSilenceMsMax;
        if (!seat.worker || !this.#heartbeats.fallsSilent(seat.number, silenceMs)) continue;
        seat.failure = `its event loop has stood still for ${silenceMs / 1_000} seconds`;
        // Said at once: a thread inside a call of the system ends only when that returns.
        this.#options.logger.error('a serving thread hangs and is ended', { thread: seat.number });
        void seat.worker.terminate();
      }
      this.#watch();
    });
  }

  /** Replaces the thread of a seat whenever it has ended, until none can start. */
  async #keep(seat: Seat): Promise<void> {
    const { logger, clock, random } = this.#options;
    const { signal } = this.#stopping;
    const backoff = new Backoff({ firstMs: limits.threadRestartMsMin, maxMs: limits.threadRestartMsMax }, random);
    while (!signal.aborted) {
      if (seat.isReady) backoff.reset();
      else if (this.#seats.every(({ worker, cannotStart }) => cannotStart && !worker)) {
        this.#done.reject(new ThreadsFailed(seat.failure ?? 'no serving thread can start'));
        return;
      }
      await seat.ended;
      if (signal.aborted) return;
      logger.error('a serving thread has ended and is replaced', {
        thread: seat.number,
        ...(seat.failure !== undefined && { reason: seat.failure }),
      });
      await pause(clock, backoff.next(), signal);
      if (signal.aborted) return;
      await this.#occupy(seat);
    }
  }

  /** Starts a thread. Resolves to its address when it serves; to undefined if it ended before, or could not even begin. */
  async #occupy(seat: Seat): Promise<ListenAddress | undefined> {
    this.#leader ??= seat;
    try {
      const worker = this.#startThread(seat);
      Object.assign(seat, { worker, failure: undefined });
      return await this.#untilReady(seat, worker);
    } catch (error) {
      // The data file is closed, or the machine has no room for another thread.
      seat.failure = error instanceof Error ? error.message : String(error);
      this.#leave(seat);
      return undefined;
    }
  }

  #startThread({ number }: Seat): Worker {
    const store = this.#options.connectStore?.();
    this.#incarnations += 1;
    this.#heartbeats.restart(number);
    const data: SeatData = {
      ...{ number, incarnation: this.#incarnations, threads: this.#seats.length, port: this.#port },
      ...{ leads: this.#leader?.number === number, first: this.#listening === undefined },
      ...{ connections: this.#connections, beats: this.#heartbeats.memory, ...(store && { store }) },
    };
    try {
      return this.#options.startThread(data, store ? [store] : []);
    } catch (error) {
      // Nobody would read what comes on it.
      store?.close();
      throw error;
    }
  }

  /** Never rejects. */
  #untilReady(seat: Seat, worker: Worker): Promise<ListenAddress | undefined> {
    const { promise: ready, resolve } = Promise.withResolvers<ListenAddress | undefined>();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    seat.ended = ended;
    worker.on('message', (message: FromThread) => {
      if (message.type === 'ready') {
        seat.isReady = true;
        this.#options.logger.info('a serving thread serves', { thread: seat.number });
        resolve(message.listening);
        if (!this.#leader) this.#nameLeader();
      } else this.#receive(seat, worker, message);
    });
    worker.on('error', (error: unknown) => {
      seat.failure ??= error instanceof Error ? (error.stack ?? error.message) : String(error);
    });
    worker.on('exit', () => {
      this.#leave(seat);
      resolve(undefined);
      end();
    });
    return ready;
  }

  /** The thread of a seat has gone. Another one takes the lead. */
  #leave(seat: Seat): void {
    seat.worker = undefined;
    seat.cannotStart = !seat.isReady;
    seat.isReady = false;
    seat.calls.end('the thread has ended');
    Atomics.store(new Int32Array(this.#connections), seat.number, 0);
    if (seat.counted) this.#gone = countedByBoth(this.#gone, seat.counted);
    seat.counted = undefined;
    if (this.#leader !== seat || this.#stopping.signal.aborted) return;
    this.#nameLeader();
  }

  #nameLeader(): void {
    this.#leader = this.#seats.find(({ isReady }) => isReady);
    this.#leader?.worker?.postMessage({ type: 'lead' } satisfies ToThread);
  }

  #receive(seat: Seat, worker: Worker, message: Exclude<FromThread, { type: 'ready' }>): void {
    switch (message.type) {
      case 'log':
        this.#options.writeLog(message.text);
        break;
      case 'failed':
        seat.failure = message.text;
        break;
      case 'answer':
        seat.calls.answered(message.call, message.outcome);
        break;
      case 'call':
        void this.#answer(seat, worker, message);
        break;
    }
  }

  async #answer(
    seat: Seat,
    worker: Worker,
    { call, name, input }: Extract<FromThread, { type: 'call' }>,
  ): Promise<void> {
    const calls: MainCalls = {
      listening: (at) => this.#listens(at),
      metrics: (own) => this.#metricsBeside(seat, own),
      openLog: async (config) => this.openLog(config),
      writeLog: (chunk) => this.#writeLog(chunk),
      locate: (stretch) => this.#locate(stretch, seat),
    };
    const outcome = await outcomeOf(() => (calls[name] as (input: unknown) => Promise<unknown>)(input));
    worker.postMessage({ type: 'answer', call, outcome } satisfies ToThread);
  }

  async #listens(at: ListenAddress): Promise<void> {
    this.#port = at.port;
    this.#listening ??= this.#options.listening(at).then(() => at);
    await this.#listening;
  }

  async #metricsBeside(asking: Seat, own: MetricsState): Promise<readonly MetricsState[]> {
    asking.counted = own;
    const others = this.#seats.filter((seat) => seat !== asking);
    await Promise.all(others.filter(({ isReady }) => isReady).map((seat) => this.#collect(seat)));
    // A thread may have ended meanwhile: each counts once, as one that is there or as one that has gone.
    return [...others.map(({ counted }) => counted), this.#gone].filter((state) => state !== undefined);
  }

  async #collect(seat: Seat): Promise<void> {
    seat.counted = (await this.#inTime(seat.calls.call('collect', undefined))) ?? seat.counted;
  }

  async #locate(stretch: KeyStretch, asking: Seat): Promise<SharedPlaces | undefined> {
    const leader = this.#leader;
    return leader?.isReady && leader !== asking ? this.#inTime(leader.calls.call('locate', stretch)) : undefined;
  }

  /** Undefined if the thread is too busy to answer, or ends. */
  #inTime<T>(answer: Promise<T>): Promise<T | undefined> {
    const { clock } = this.#options;
    return inTime(
      answer.catch(() => undefined),
      limits.threadAnswerMsMax,
      { clock },
    );
  }

  /** Opens a log for all threads, or finds it open. Throws if it cannot be written. */
  openLog(config: LogConfig): number {
    const text = JSON.stringify(config);
    const found = this.#logs.findIndex((log) => log.config === text);
    if (found >= 0) return found;
    return this.#logs.push({ config: text, output: this.#options.openLog(config, this.#options.logger) }) - 1;
  }

  async #writeLog({ log, lines }: LogChunk): Promise<void> {
    await this.#logs[log]?.output.write([[lines]]);
  }
}

function emptySeat(number: number): Seat {
  const calls = new PendingCalls<ThreadCalls>((call, name, input) =>
    seat.worker?.postMessage({ type: 'call', call, name, input } satisfies ToThread),
  );
  const seat: Seat = {
    ...{ number, calls, worker: undefined, isReady: false, cannotStart: false },
    ...{ failure: undefined, counted: undefined },
    ended: Promise.resolve(),
  };
  return seat;
}
