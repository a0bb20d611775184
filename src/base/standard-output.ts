import { write } from 'node:fs';
import { limits } from './limits.ts';
import { type LineChunk, LineQueue } from './line-queue.ts';
import type { LogLine, LogOutput } from './log-output.ts';
import { type Clock, pause } from './time/clock.ts';

const standardOutput = 1;

/**
 * Lines on standard output. Written as a file, on a thread of the pool: `process.stdout` holds the event loop while the
 * reader of a pipe is slow.
 */
export class StandardOutput implements LogOutput {
  readonly #clock: Clock;
  readonly #queue = new LineQueue((chunk) => this.#write(chunk));

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  write(lines: readonly LogLine[]): Promise<void> {
    return this.#queue.add(lines);
  }

  close(): Promise<void> {
    return this.#queue.idle();
  }

  async #write({ buffers }: LineChunk): Promise<void> {
    for (const buffer of buffers) {
      for (let rest = buffer; rest.length > 0; ) rest = rest.subarray(await this.#writeSome(rest));
    }
  }

  async #writeSome(buffer: Uint8Array): Promise<number> {
    try {
      return await new Promise((resolve, reject) => {
        write(standardOutput, buffer, (error, written) => (error ? reject(error) : resolve(written)));
      });
    } catch (error) {
      // The pipe is full, and was set not to block by one of the processes that share it.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
      await pause(this.#clock, limits.fullPipeMs);
      return 0;
    }
  }
}
