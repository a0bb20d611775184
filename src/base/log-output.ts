import { type LineChunk, type LineOwner, LineQueue, type TextLine } from './line-queue.ts';

/** A line in parts, with its line end. */
export type LogLine = readonly (string | Uint8Array)[];

/** A log that others read, in lines. Writes never hold the event loop. */
export abstract class LogOutput {
  readonly #queue: LineQueue;

  /** See LineQueue. */
  constructor(bytesMax?: number) {
    this.#queue = new LineQueue((chunk) => this.writeChunk(chunk), bytesMax);
  }

  /** Rejects if no line of the chunk was written. */
  protected abstract writeChunk(chunk: LineChunk): Promise<void>;

  /** Resolves when nothing waits. */
  protected idle(): Promise<void> {
    return this.#queue.idle();
  }

  /**
   * Appends lines. Resolves when the operating system has them all. Rejects if a line may be missing; none is written in
   * part.
   */
  write(lines: readonly LogLine[]): Promise<void> {
    return new Promise((resolve, reject) => {
      let left = lines.length;
      let problem: unknown;
      const end = (lines: number): void => {
        left -= lines;
        if (left > 0) return;
        if (problem === undefined) resolve();
        else reject(problem);
      };
      const owner: LineOwner = {
        written: end,
        lost(lost, error) {
          problem ??= error;
          end(lost);
        },
      };
      if (left === 0) resolve();
      for (const line of lines) this.#queue.add(line, owner);
      this.#queue.flush();
    });
  }

  /** Appends a line that is written with the next `flush`, or before. */
  append(line: LogLine, owner: LineOwner): void {
    this.#queue.add(line, owner);
  }

  /** The same with a line that writes itself, at once. */
  appendText(line: TextLine, owner: LineOwner): void {
    this.#queue.addText(line, owner);
  }

  flush(): void {
    this.#queue.flush();
  }

  /** Bytes that wait to be written. */
  get waiting(): number {
    return this.#queue.bytes;
  }

  /** Resolves when all that was to be written is, and the log is closed. Never rejects. */
  abstract close(): Promise<void>;
}
