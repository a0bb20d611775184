import { crc32 } from 'node:zlib';
import { type Http2Client, PreparedRequest, type StreamListener } from './http2-client.ts';
import { within } from './within.ts';

const newline = 10;
const openMsMax = 30_000;
const deliveryMsMax = 30_000;

export interface Delivered {
  /** From `sentAt` to the arrival of each event at each watcher. Milliseconds, ascending. */
  readonly latencyMs: Float64Array;
  /** From `sentAt` to the last arrival. */
  readonly seconds: number;
  /** What the first watcher got, which is what each of them got. */
  readonly events: Buffer;
}

/** A watch whose events are JSON. */
export const jsonWatch = (path: string): PreparedRequest =>
  new PreparedRequest({ method: 'GET', path, headers: { accept: 'application/json' } });

/** Many watches, spread over connections, that see the same events. */
export class Audience {
  readonly #watchers: readonly WatcherStream[];
  readonly #failed = Promise.withResolvers<never>();
  #expected = 0;
  #arrived = 0;
  #latencyMs = new Float64Array(0);
  #sentAt = 0;
  #lastAt = 0;
  #complete: () => void = () => {};

  private constructor(count: number) {
    this.#failed.promise.catch(() => {});
    this.#watchers = Array.from({ length: count }, () => new WatcherStream(this));
  }

  /** Opens the watches. They are known to be open once their response has begun, which `confirm` brings about. */
  static async open(
    clients: readonly Http2Client[],
    count: number,
    request: PreparedRequest,
    confirm: (audience: Audience) => Promise<void>,
  ): Promise<Audience> {
    const audience = new Audience(count);
    for (const [index, watcher] of audience.#watchers.entries())
      clients[index % clients.length]?.send(request, watcher);
    await within(confirm(audience), openMsMax, 'opening the watches');
    return audience;
  }

  /** Runs `send`, which makes that many events, and waits until all watchers have seen them all. */
  async deliver(events: number, send: () => void): Promise<Delivered> {
    const complete = Promise.withResolvers<void>();
    this.#complete = complete.resolve;
    this.#expected = events * this.#watchers.length;
    this.#arrived = 0;
    this.#latencyMs = new Float64Array(this.#expected);
    for (const watcher of this.#watchers) watcher.reset();
    const [first] = this.#watchers;
    first?.record();
    this.#sentAt = performance.now();
    send();
    await within(Promise.race([complete.promise, this.#failed.promise]), deliveryMsMax, 'delivering events');
    const checksum = first?.checksum;
    if (this.#watchers.some((watcher) => watcher.events !== events || watcher.checksum !== checksum)) {
      throw new Error('watchers saw different events');
    }
    return {
      latencyMs: this.#latencyMs.sort(),
      seconds: (this.#lastAt - this.#sentAt) / 1000,
      events: first?.recorded() ?? Buffer.alloc(0),
    };
  }

  arrived(): void {
    this.#lastAt = performance.now();
    this.#latencyMs[this.#arrived] = this.#lastAt - this.#sentAt;
    this.#arrived++;
    if (this.#arrived === this.#expected) this.#complete();
  }

  fail(why: string): void {
    this.#failed.reject(new Error(`a watch ended: ${why}`));
  }
}

/** One watch. Events are lines; what is kept of them is their number and a checksum. */
class WatcherStream implements StreamListener {
  readonly #audience: Audience;
  #record: Buffer[] | undefined;
  events = 0;
  checksum = 0;

  constructor(audience: Audience) {
    this.#audience = audience;
  }

  reset(): void {
    this.events = 0;
    this.checksum = 0;
  }

  record(): void {
    this.#record = [];
  }

  recorded(): Buffer {
    return Buffer.concat(this.#record ?? []);
  }

  data(chunk: Buffer): void {
    this.checksum = crc32(chunk, this.checksum);
    this.#record?.push(Buffer.from(chunk));
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, at + 1)) {
      this.events++;
      this.#audience.arrived();
    }
  }

  end(): void {
    this.#audience.fail('the server ended it');
  }

  failed(why: string): void {
    this.#audience.fail(why);
  }
}
