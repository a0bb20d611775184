import { limits } from './limits.ts';
import type { LogLine } from './log-output.ts';

interface Waiting {
  readonly lines: readonly LogLine[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  error?: unknown;
}

/** Whole lines, to be written together. */
export interface LineChunk {
  readonly buffers: readonly Uint8Array[];
  readonly bytes: number;
}

/** Writes lines in order, one chunk at a time: lines that come while one is written go out together. */
export class LineQueue {
  readonly #write: (chunk: LineChunk) => Promise<void>;
  readonly #bytesMax: number;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;

  /** `write` rejects if no line of the chunk was written. Chunks of several lines have `bytesMax` at most. */
  constructor(write: (chunk: LineChunk) => Promise<void>, bytesMax = limits.logChunkBytes) {
    this.#write = write;
    this.#bytesMax = Math.min(bytesMax, limits.logChunkBytes);
  }

  add(lines: readonly LogLine[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ lines, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    // What the other requests of this turn add goes out in the same chunk.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      await this.#writeAll(waiting);
      for (const { resolve, reject, error } of waiting) {
        if (error === undefined) resolve();
        else reject(error);
      }
    }
    this.#running = undefined;
  }

  async #writeAll(waiting: readonly Waiting[]): Promise<void> {
    let chunk = new OpenChunk();
    const flush = async (): Promise<void> => {
      const full = chunk;
      chunk = new OpenChunk();
      if (full.owners.size === 0) return;
      try {
        await this.#write(full.closed());
      } catch (error) {
        for (const owner of full.owners) owner.error = error ?? new Error('not written');
      }
    };
    for (const owner of waiting) {
      for (const line of owner.lines) {
        const bytes = line.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
        if (chunk.length + bytes > this.#bytesMax) await flush();
        chunk.add(line, bytes, owner);
      }
    }
    await flush();
  }
}

class OpenChunk {
  readonly owners = new Set<Waiting>();
  readonly #buffers: Uint8Array[] = [];
  #text = '';
  /** Bytes. */
  length = 0;

  add(line: LogLine, length: number, owner: Waiting): void {
    this.owners.add(owner);
    this.length += length;
    for (const part of line) {
      if (typeof part === 'string') this.#text += part;
      else {
        this.#closeText();
        this.#buffers.push(part);
      }
    }
  }

  closed(): LineChunk {
    this.#closeText();
    return { buffers: this.#buffers, bytes: this.#buffers.reduce((sum, { length }) => sum + length, 0) };
  }

  #closeText(): void {
    if (this.#text !== '') this.#buffers.push(Buffer.from(this.#text));
    this.#text = '';
  }
}
