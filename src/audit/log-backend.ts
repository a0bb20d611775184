import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { LineOwner } from '../base/line-queue.ts';
import type { LogLine, LogOutput } from '../base/log-output.ts';
import type { Clock } from '../base/time/clock.ts';
import type { AuditBackend, AuditSink } from './backend.ts';
import type { BatchOptions } from './batching.ts';
import { type EncodedEvent, microTimes } from './event-encoder.ts';
import { legacyLine } from './legacy-line.ts';
import type { LostEvents } from './lost-events.ts';

export type LogFormat = 'json' | 'legacy';

const lineEnd = '\n';

/** Returns the line of an event. */
function lines(format: LogFormat): (encoded: EncodedEvent) => LogLine {
  const time = microTimes();
  return ({ event, parts }) => {
    if (format === 'legacy') return [`${legacyLine(event, time)}${lineEnd}`];
    const [only] = parts;
    return parts.length === 1 && typeof only === 'string' ? [only + lineEnd] : [...parts, lineEnd];
  };
}

/** Writes events to a log, one per line, for requests that wait. */
export function logSink(output: LogOutput, format: LogFormat): AuditSink {
  const lineOf = lines(format);
  return {
    send: (events) => output.write(events.map(lineOf)),
    hurry() {},
    close: () => output.close(),
  };
}

interface BatchedLogParts {
  readonly output: LogOutput;
  readonly format: LogFormat;
  readonly lost: LostEvents;
  readonly clock: Clock;
  /** Lines have no number of batches to be limited: `throttle` means nothing. */
  readonly options: Omit<BatchOptions, 'throttle'>;
}

/** Mode `batch` of a log: lines gather for a while, and requests do not wait for them. */
export class BatchedLog implements AuditBackend {
  readonly #parts: BatchedLogParts;
  readonly #lineOf: (encoded: EncodedEvent) => LogLine;
  /** Lines that are not written. */
  #waiting = 0;
  /** Those of them that came since the last flush. */
  #gathered = 0;
  #timer: Closable | undefined;
  /** What the timer waits for: more lines, or its own time. */
  #isFull = false;
  #closed = false;

  constructor(parts: BatchedLogParts) {
    this.#parts = parts;
    this.#lineOf = lines(parts.format);
  }

  process(events: readonly EncodedEvent[]): boolean {
    const { output, lost, options } = this.#parts;
    for (const event of events) {
      if (this.#closed) lost('buffered', 1, new Error('audit backend shut down'));
      else if (this.#waiting >= options.bufferSize || output.waiting > limits.auditWaitingBytesMax) {
        lost('buffered', 1, new Error('audit buffer queue blocked'));
      } else {
        this.#waiting += 1;
        this.#gathered += 1;
        output.append(this.#lineOf(event), this.#owner);
      }
    }
    if (this.#gathered > 0) this.#schedule();
    return true;
  }

  readonly #owner: LineOwner = {
    written: () => {
      this.#waiting -= 1;
    },
    lost: (error) => {
      this.#waiting -= 1;
      this.#parts.lost('log', 1, error);
    },
  };

  #schedule(): void {
    const { clock, options } = this.#parts;
    const isFull = this.#gathered >= options.sizeMax;
    if (this.#timer && this.#isFull === isFull) return;
    this.#timer?.close();
    this.#isFull = isFull;
    this.#timer = clock.after(isFull ? limits.auditGatherMs : options.waitMs, () => this.#flush());
  }

  #flush(): void {
    this.#timer?.close();
    this.#timer = undefined;
    this.#gathered = 0;
    this.#parts.output.flush();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#flush();
    await this.#parts.output.close();
  }
}
