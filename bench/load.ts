import type { StreamListener } from './http2-client.ts';
import { within } from './within.ts';

/** What each response must be; one that is not fails the whole run, so that a wrong answer cannot count as fast. */
export interface Expected {
  readonly status: number;
  /** The body, byte for byte. */
  readonly body?: Buffer;
  /** Where the bodies differ from each other: their sizes. */
  readonly bytesMin?: number;
}

export interface LoadOptions {
  /** Requests that are under way at once: a slot sends its next when it has the answer to its last. */
  readonly slots: number;
  readonly durationMs: number;
  readonly requestsMax?: number;
  readonly expected: Expected;
  /** Sends the request number `turn` of all, on behalf of a slot. */
  send(slot: number, turn: number, listener: StreamListener): void;
}

export interface LoadResult {
  readonly requests: number;
  readonly bytes: number;
  readonly seconds: number;
  /** From sending to the first byte of the body, and to the end. Milliseconds, ascending. */
  readonly firstByteMs: Float64Array;
  readonly latencyMs: Float64Array;
}

/** How long the last answers may take once no more is sent. */
const graceMs = 15_000;

/** Keeps a server busy for a while. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const done = Promise.withResolvers<void>();
  const run = new Run(options, done.resolve, done.reject);
  run.start();
  await within(done.promise, options.durationMs + graceMs, 'answering the load');
  return run.result();
}

class Run {
  readonly options: LoadOptions;
  readonly fail: (error: Error) => void;
  readonly #finished: () => void;
  readonly #startedAt = performance.now();
  readonly #firstByteMs: number[] = [];
  readonly #latencyMs: number[] = [];
  #turn = 0;
  #underWay = 0;
  #bytes = 0;
  #endedAt = 0;

  constructor(options: LoadOptions, finished: () => void, fail: (error: Error) => void) {
    this.options = options;
    this.#finished = finished;
    this.fail = fail;
  }

  start(): void {
    for (let number = 0; number < this.options.slots; number++) this.next(new Slot(this, number));
  }

  next(slot: Slot): void {
    const { durationMs, requestsMax = Number.POSITIVE_INFINITY } = this.options;
    const now = performance.now();
    if (now - this.#startedAt >= durationMs || this.#turn >= requestsMax) {
      if (this.#underWay === 0) this.#finished();
      return;
    }
    this.#underWay++;
    slot.begin(now);
    this.options.send(slot.number, this.#turn++, slot);
  }

  answered(slot: Slot, bytes: number): void {
    this.#endedAt = performance.now();
    this.#bytes += bytes;
    this.#firstByteMs.push(slot.firstByteAt - slot.beganAt);
    this.#latencyMs.push(this.#endedAt - slot.beganAt);
    this.#underWay--;
    this.next(slot);
  }

  result(): LoadResult {
    return {
      requests: this.#latencyMs.length,
      bytes: this.#bytes,
      seconds: (this.#endedAt - this.#startedAt) / 1000,
      firstByteMs: Float64Array.from(this.#firstByteMs).sort(),
      latencyMs: Float64Array.from(this.#latencyMs).sort(),
    };
  }
}

/** One request at a time, and the check of its answer. */
class Slot implements StreamListener {
  readonly number: number;
  readonly #run: Run;
  beganAt = 0;
  firstByteAt = 0;
  #read = 0;

  constructor(run: Run, number: number) {
    this.#run = run;
    this.number = number;
  }

  begin(now: number): void {
    this.beganAt = now;
    this.firstByteAt = 0;
    this.#read = 0;
  }

  data(chunk: Buffer): void {
    if (this.firstByteAt === 0) this.firstByteAt = performance.now();
    const { body } = this.#run.options.expected;
    const end = this.#read + chunk.length;
    if (body && (end > body.length || chunk.compare(body, this.#read, end) !== 0)) {
      this.failed(`the body differs from the one expected near byte ${this.#read}`);
    }
    this.#read = end;
  }

  end({ status }: { readonly status: number }): void {
    const { expected } = this.#run.options;
    const bytesMin = expected.body?.length ?? expected.bytesMin ?? 0;
    if (status !== expected.status) this.failed(`status ${status} instead of ${expected.status}`);
    else if (this.#read < bytesMin) this.failed(`${this.#read} bytes instead of ${bytesMin}`);
    else this.#run.answered(this, this.#read);
  }

  failed(why: string): void {
    this.#run.fail(new Error(`a wrong answer under load: ${why}`));
  }
}
