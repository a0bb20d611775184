import { limits } from '../base/limits.ts';
import { type Clock, pause } from '../base/time/clock.ts';
import { inTime } from '../base/time/in-time.ts';
import type { AuditBackend, AuditSink } from './backend.ts';
import type { EncodedEvent } from './event-encoder.ts';
import type { AuditPlugin, LostEvents } from './lost-events.ts';

/** Flags of mode `batch`. */
export interface BatchOptions {
  /** Events that wait at most; further ones are lost. */
  readonly bufferSize: number;
  /** Events at which a batch is sent. */
  readonly sizeMax: number;
  /** Longest time until an event is sent. Milliseconds. */
  readonly waitMs: number;
  /** Batches per second on average, and at once; undefined: as many as come. */
  readonly throttle?: { readonly perSecond: number; readonly burst: number } | undefined;
}

interface BatchingParts {
  readonly sink: AuditSink;
  readonly plugin: AuditPlugin;
  readonly lost: LostEvents;
  readonly clock: Clock;
  readonly options: BatchOptions;
  /** Bytes of a batch; one with a single event may have more. */
  readonly batchBytesMax: number;
}

/** Mode `batch` of a webhook: events are buffered, and requests do not wait for them. */
export class Batching implements AuditBackend {
  readonly #parts: BatchingParts;
  readonly #waiting: EncodedEvent[] = [];
  /** Bytes of events that wait or are being sent. */
  #bytes = 0;
  readonly #underWay = new Set<Promise<void>>();
  /** Set while batches are being sent, or wait until they are. */
  #sending: Promise<void> | undefined;
  /** The oldest event has waited long enough. */
  #due = false;
  #timer: { close(): void } | undefined;
  readonly #closing = new AbortController();
  #tokens: number;
  #filledAt: number;

  constructor(parts: BatchingParts) {
    this.#parts = parts;
    this.#tokens = parts.options.throttle?.burst ?? 0;
    this.#filledAt = parts.clock.monotonic();
  }

  process(event: EncodedEvent): boolean {
    const { lost, options } = this.#parts;
    if (this.#closing.signal.aborted) lost('buffered', 1, new Error('audit backend shut down'));
    else if (this.#waiting.length >= options.bufferSize || this.#bytes > limits.auditWaitingBytesMax) {
      lost('buffered', 1, new Error('audit buffer queue blocked'));
    } else {
      this.#waiting.push(event);
      this.#bytes += event.bytes;
    }
    this.#schedule();
    return true;
  }

  #schedule(): void {
    if (this.#sending || this.#waiting.length === 0) return;
    const { clock, options } = this.#parts;
    if (this.#isReady) this.#sending = this.#send();
    else this.#timer ??= clock.after(options.waitMs, () => this.#expire());
  }

  get #isReady(): boolean {
    return this.#due || this.#closing.signal.aborted || this.#waiting.length >= this.#parts.options.sizeMax;
  }

  #expire(): void {
    this.#timer = undefined;
    this.#due = true;
    this.#schedule();
  }

  /** Sends batches while there are any. Never rejects. */
  async #send(): Promise<void> {
    while (this.#waiting.length > 0 && this.#isReady) {
      this.#due = false;
      for (const batch of this.#take()) {
        await this.#throttle();
        while (this.#underWay.size >= limits.auditBatchesMax) await Promise.race(this.#underWay);
        this.#start(batch);
      }
    }
    this.#timer?.close();
    this.#timer = undefined;
    this.#sending = undefined;
    this.#schedule();
  }

  /** Waits for a token of the bucket; not when the server stops. */
  async #throttle(): Promise<void> {
    const { clock, options } = this.#parts;
    const { throttle } = options;
    if (!throttle) return;
    const { perSecond, burst } = throttle;
    for (;;) {
      const now = clock.monotonic();
      this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) / 1000) * perSecond);
      this.#filledAt = now;
      if (this.#tokens >= 1 || this.#closing.signal.aborted) break;
      await pause(clock, ((1 - this.#tokens) / perSecond) * 1000, this.#closing.signal);
    }
    this.#tokens -= 1;
  }

  /** The next batch, in several parts if it is too large. */
  #take(): readonly (readonly EncodedEvent[])[] {
    const { options, batchBytesMax } = this.#parts;
    const taken = this.#waiting.splice(0, options.sizeMax);
    const parts: EncodedEvent[][] = [];
    let bytes = Number.POSITIVE_INFINITY;
    for (const event of taken) {
      if (bytes + event.bytes > batchBytesMax || parts.length === 0) {
        parts.push([]);
        bytes = 0;
      }
      parts.at(-1)?.push(event);
      bytes += event.bytes;
    }
    return parts;
  }

  #start(batch: readonly EncodedEvent[]): void {
    const { sink, plugin, lost } = this.#parts;
    const sent = sink
      .send(batch)
      .catch((error) => lost(plugin, batch.length, error))
      .finally(() => {
        for (const { bytes } of batch) this.#bytes -= bytes;
        this.#underWay.delete(sent);
      });
    this.#underWay.add(sent);
  }

  /** Sends what waits, within `limits.auditFlushMsMax`. */
  async close(): Promise<void> {
    const { clock, sink, lost, plugin } = this.#parts;
    this.#closing.abort();
    sink.hurry();
    this.#schedule();
    await inTime(this.#idle(), limits.auditFlushMsMax, { clock });
    const left = this.#waiting.splice(0).length;
    if (left > 0) lost(plugin, left, new Error('the server has stopped'));
    await sink.close();
  }

  async #idle(): Promise<void> {
    while (this.#sending || this.#underWay.size > 0) {
      await this.#sending;
      await Promise.all(this.#underWay);
    }
  }
}
