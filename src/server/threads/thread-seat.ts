import { isMainThread, type MessagePort, parentPort, type Transferable } from 'node:worker_threads';
import type { LineChunk } from '../../base/line-queue.ts';
import { LogOutput } from '../../base/log-output.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { MetricsState } from '../../base/metrics-state.ts';
import type { CacheSharing, KeyStretch, SharedPlaces } from '../../cache/sharing/shared-entries.ts';
import { SharedSlabs } from '../../cache/sharing/shared-slabs.ts';
import { joinSqliteStore } from '../../store/drivers/sqlite/sqlite-store.ts';
import { Lead } from '../upkeep/lead.ts';
import type { ListenAddress, ServerConfig } from '../wiring/config.ts';
import { type Environment, type LogConfig, systemEnvironment } from '../wiring/environment.ts';
import { outcomeOf, PendingCalls } from './calls.ts';
import { beat } from './heartbeat.ts';
import { connectionSpread } from './spread.ts';
import type { FromThread, LogChunk, MainCalls, SeatData, ThreadCalls, ToThread } from './thread-messages.ts';

/** One serving thread, as it sees the others: by way of the main thread. */
export class ThreadSeat {
  readonly #data: SeatData;
  readonly #port: MessagePort;
  readonly #main = new PendingCalls<MainCalls>((call, name, input) => this.#send({ type: 'call', call, name, input }));
  readonly #lead: Lead;
  readonly #stop = Promise.withResolvers<void>();
  /** Of each page. */
  readonly #metrics: Metrics[] = [];
  /** Of each cache. */
  readonly #locate: ((stretch: KeyStretch) => SharedPlaces | undefined)[] = [];

  constructor(data: SeatData, port: MessagePort | null = parentPort) {
    if (isMainThread && port === parentPort) throw new Error('a serving thread is not the main thread');
    if (!port) throw new Error('a serving thread has a parent');
    this.#data = data;
    this.#port = port;
    this.#lead = new Lead(data.leads);
    beat(data, systemEnvironment.clock);
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
      sharing: this.#sharing(),
      listen: { ...config.listen, port },
      spread: connectionSpread(this.#data, systemEnvironment.clock),
      requests: {
        ...config.requests,
        inFlightMax: {
          reads: shareOf(inFlightMax.reads, number, threads),
          writes: shareOf(inFlightMax.writes, number, threads),
        },
      },
      shareMetrics: (metrics) => this.#shareMetrics(metrics),
      // Clients of the others are not to find a server that is not ready.
      listensReady: !first,
      ...(first && { beforeReady: ({ address, port }) => this.#main.call('listening', { address, port }) }),
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
      openLog: (config) =>
        new MainLog(config, this.#main.call('openLog', config), (chunk) => this.#main.call('writeLog', chunk)),
    };
  }

  #shareMetrics(metrics: Metrics): void {
    this.#metrics.push(metrics);
    // What is shown of this thread is what the main thread keeps: no counter falls when the thread ends.
    metrics.setStates(async () => {
      const own = await this.#counted();
      return [own, ...(await this.#main.call('metrics', own))];
    });
  }

  /** Of all pages together: no two define the same metric. */
  async #counted(): Promise<MetricsState> {
    await Promise.all(this.#metrics.map((metrics) => metrics.refresh()));
    return new Map(this.#metrics.flatMap((metrics) => [...metrics.state()]));
  }

  #sharing(): CacheSharing {
    const lead = this.#lead;
    return {
      slabs: new SharedSlabs(this.#data.incarnation),
      get leads() {
        return lead.leads;
      },
      ask: (stretch) => this.#main.call('locate', stretch),
      answer: (locate) => void this.#locate.push(locate),
    };
  }

  async #receive(message: ToThread): Promise<void> {
    switch (message.type) {
      case 'lead':
        this.#lead.take();
        break;
      case 'stop':
        this.#stop.resolve();
        break;
      case 'call': {
        const { call, name, input } = message;
        const answer = this.#answers[name] as (input: unknown) => Promise<unknown>;
        this.#send({ type: 'answer', call, outcome: await outcomeOf(() => answer(input)) });
        break;
      }
      case 'answer':
        this.#main.answered(message.call, message.outcome);
        break;
    }
  }

  readonly #answers: ThreadCalls = {
    collect: () => this.#counted(),
    locate: async (stretch) => {
      for (const locate of this.#locate) {
        const found = locate(stretch);
        if (found) return found;
      }
      return undefined;
    },
  };

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
