import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { LineOwner } from '../base/line-queue.ts';
import type { LogLine, LogOutput } from '../base/log-output.ts';
import type { Clock } from '../base/time/clock.ts';
import type { AuditBackend } from './backend.ts';
import type { BatchOptions } from './batching.ts';
import type { EncodedEvent } from './event-encoder.ts';
import { legacyLine } from './legacy-line.ts';
import type { LostEvents } from './lost-events.ts';
import { MicroTimes } from './micro-times.ts';

export type LogFormat = 'json' | 'legacy';

const lineEnd = Buffer.from('\n');

/** Makes the line of an event. */
class EventLines {
  readonly #format: LogFormat;
  readonly #times = new MicroTimes();

  constructor(format: LogFormat) {
    this.#format = format;
  }

  /** Events without objects become bytes in a chunk, or a text. */
  append(encoded: EncodedEvent, output: LogOutput, owner: LineOwner): void {
    if (this.#format === 'json' && !encoded.hasObjects) output.appendText(encoded, owner);
    else output.append(this.line(encoded), owner);
  }

  line(encoded: EncodedEvent): LogLine {
    if (this.#format === 'json') return [...encoded.parts, lineEnd];
    return [legacyLine(encoded.event, (ms) => this.#times.text(ms)), lineEnd];
  }
}

interface BlockingLogParts {
  readonly output: LogOutput;
  readonly format: LogFormat;
  readonly lost: LostEvents;
  /** Whether a request must not go on if its event cannot be written. */
  readonly strict: boolean;
}

/** Modes `blocking` and `blocking-strict` of a log: requests wait until their events are written, many together. */
export function blockingLog({ output, format, lost, strict }: BlockingLogParts): AuditBackend {
  const lines = new EventLines(format);
  return {
    writesAtOnce: true,
    process(event) {
      if (output.waiting > limits.auditWaitingBytesMax) {
        lost('log', 1, new Error('too many events wait to be written'));
        return !strict;
      }
      return new Promise((resolve) => {
        lines.append(event, output, {
          written: () => resolve(true),
          lost(count, error) {
            lost('log', count, error);
            resolve(!strict);
          },
        });
        output.flush();
      });
    },
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
  readonly writesAtOnce = true;
  readonly #parts: BatchedLogParts;
  readonly #lines: EventLines;
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
    this.#lines = new EventLines(parts.format);
  }

  process(event: EncodedEvent): boolean {
    const { output, lost, options } = this.#parts;
    if (this.#closed) lost('buffered', 1, new Error('audit backend shut down'));
    else if (this.#waiting >= options.bufferSize || output.waiting > limits.auditWaitingBytesMax) {
      lost('buffered', 1, new Error('audit buffer queue blocked'));
    } else {
      this.#waiting += 1;
      this.#gathered += 1;
      this.#lines.append(event, output, this.#owner);
    }
    if (this.#gathered > 0) this.#schedule();
    return true;
  }

  readonly #owner: LineOwner = {
    written: (lines) => {
      this.#waiting -= lines;
    },
    lost: (lines, error) => {
      this.#waiting -= lines;
      this.#parts.lost('log', lines, error);
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
