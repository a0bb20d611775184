import { write } from 'node:fs';
import { limits } from './limits.ts';
import type { LineChunk } from './line-queue.ts';
import { LogOutput } from './log-output.ts';
import { type Clock, pause } from './time/clock.ts';

const standardOutput = 1;

/**
 * Lines on standard output. Written as a file, on a thread of the pool: `process.stdout` holds the event loop while the
 * reader of a pipe is slow.
 */
export class StandardOutput extends LogOutput {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    super();
    this.#clock = clock;
  }

  close(): Promise<void> {
    return this.idle();
  }

  protected async writeChunk({ buffers }: LineChunk): Promise<void> {
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
