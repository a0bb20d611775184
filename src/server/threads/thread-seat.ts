import { isMainThread, type MessagePort, parentPort, type Transferable } from 'node:worker_threads';
import type { LineChunk } from '../../base/line-queue.ts';
import { LogOutput } from '../../base/log-output.ts';
import type { Metrics, MetricsState } from '../../base/metrics.ts';
import { joinSqliteStore } from '../../store/drivers/sqlite/sqlite-store.ts';
import { Lead } from '../upkeep/lead.ts';
import type { ListenAddress, ServerConfig } from '../wiring/config.ts';
import { type Environment, type LogConfig, systemEnvironment } from '../wiring/environment.ts';
import { connectionSpread } from './spread.ts';
import type { FromThread, LogChunk, MainCalls, Outcome, SeatData, ToThread } from './thread-messages.ts';

/** One serving thread, as it sees the others: by way of the main thread. */
export class ThreadSeat {
  readonly #data: SeatData;
  readonly #port: MessagePort;
  readonly #calls = new Map<number, (outcome: Outcome) => void>();
  readonly #lead: Lead;
  readonly #stop = Promise.withResolvers<void>();
  #lastCall = 0;
  #metrics: Metrics | undefined;

  constructor(data: SeatData, port: MessagePort | null = parentPort) {
    if (isMainThread && port === parentPort) throw new Error('a serving thread is not the main thread');
    if (!port) throw new Error('a serving thread has a parent');
    this.#data = data;
    this.#port = port;
    this.#lead = new Lead(data.leads);
    port.on('message', (message: ToThread) => void this.#receive(message));
  }

  /** Resolves when the process stops. */
  get stopped(): Promise<void> {
    return this.#stop.promise;
  }

  /** Writes whole lines. */
  readonly log = (text: string): boolean => {
    this.#send({ type: 'log', text });
    return true;
  };

  ready({ address, port }: ListenAddress): void {
    this.#send({ type: 'ready', listening: { address, port } });
  }

  failed(text: string): void {
    this.#send({ type: 'failed', text });
  }

  /** The configuration of this thread's part of the server. */
  configure(config: ServerConfig): ServerConfig {
    const { number, threads, port, first } = this.#data;
    const { inFlightMax } = config.requests;
    const { beforeReady: _, ...own } = config;
    return {
      ...own,
      lead: this.#lead,
      listen: { ...config.listen, port },
      spread: connectionSpread(this.#data, systemEnvironment.clock),
      requests: {
        ...config.requests,
        inFlightMax: {
          reads: shareOf(inFlightMax.reads, number, threads),
          writes: shareOf(inFlightMax.writes, number, threads),
        },
      },
      otherMetrics: (metrics) => this.#shareMetrics(metrics),
      // Clients of the others are not to find a server that is not ready.
      listensReady: !first,
      ...(first && { beforeReady: ({ address, port }) => this.#call('listening', { address, port }) }),
    };
  }

  /** The machine, with what the process has once. */
  environment(): Environment {
    const { store } = this.#data;
    return {
      ...systemEnvironment,
      openStore(storage, parts) {
        return store ? joinSqliteStore({ ...parts, port: store }) : systemEnvironment.openStore(storage, parts);
      },
      openLog: (config) => new MainLog(config, this.#call('openLog', config), (chunk) => this.#call('writeLog', chunk)),
    };
  }

  #shareMetrics(metrics: Metrics): () => Promise<readonly MetricsState[]> {
    this.#metrics = metrics;
    return () => this.#call('metrics', undefined);
  }

  async #receive(message: ToThread): Promise<void> {
    switch (message.type) {
      case 'lead':
        this.#lead.take();
        break;
      case 'stop':
        this.#stop.resolve();
        break;
      case 'collect':
        await this.#metrics?.refresh();
        this.#send({ type: 'collected', call: message.call, state: this.#metrics?.state() ?? new Map() });
        break;
      case 'answer':
        this.#calls.get(message.call)?.(message.outcome);
        this.#calls.delete(message.call);
        break;
    }
  }

  #call<Name extends keyof MainCalls>(name: Name, input: Parameters<MainCalls[Name]>[0]): ReturnType<MainCalls[Name]> {
    const call = ++this.#lastCall;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#calls.set(call, (outcome) =>
      'error' in outcome ? reject(new Error(outcome.error)) : resolve(outcome.value),
    );
    this.#send({ type: 'call', call, name, input });
    return promise as ReturnType<MainCalls[Name]>;
  }

  #send(message: FromThread, transfer: readonly Transferable[] = []): void {
    this.#port.postMessage(message, [...transfer]);
  }
}

/** A thread's part of a limit; 0 is no limit. The main thread starts no more threads than the limit has parts. */
function shareOf(max: number, number: number, threads: number): number {
  return Math.floor(max / threads) + (number < max % threads ? 1 : 0);
}

/** A log that the main thread writes, with the lines of the other threads: whole chunks of whole lines. */
class MainLog extends LogOutput {
  readonly #opened: Promise<number>;
  readonly #send: (chunk: LogChunk) => Promise<void>;

  constructor(config: LogConfig, opened: Promise<number>, send: (chunk: LogChunk) => Promise<void>) {
    super(config.type === 'file' ? config.bytesMax : undefined);
    this.#opened = opened;
    this.#send = send;
    opened.catch(() => {});
  }

  protected async writeChunk({ buffers }: LineChunk): Promise<void> {
    await this.#send({ log: await this.#opened, lines: Buffer.concat(buffers) });
  }

  close(): Promise<void> {
    return this.idle();
  }
}
