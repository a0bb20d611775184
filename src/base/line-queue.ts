import { limits } from './limits.ts';
import type { LogLine } from './log-output.ts';

/** Who is told what became of a line. */
export interface LineOwner {
  written(): void;
  lost(error: unknown): void;
}

/** Whole lines, to be written together. */
export interface LineChunk {
  readonly buffers: readonly Uint8Array[];
  readonly bytes: number;
}

/**
 * Lines that wait to be written, in order and one chunk at a time. They are encoded soon after they come, some dozen lines
 * in one call: as objects they would live long enough to keep the garbage collector busy.
 */
export class LineQueue {
  readonly #write: (chunk: LineChunk) => Promise<void>;
  readonly #bytesMax: number;
  /** Full chunks, and the open one at the end. */
  readonly #waiting: OpenChunk[] = [];
  /** Memory of written chunks. Allocation outside the heap makes the garbage collector run early and often. */
  readonly #free: Buffer[] = [];
  #running: Promise<void> | undefined;
  /** What waits or is being written. Bytes, of which each character counts as one. */
  bytes = 0;

  /** `write` rejects if no line of the chunk was written. Chunks of several lines have `bytesMax` at most. */
  constructor(write: (chunk: LineChunk) => Promise<void>, bytesMax = limits.logChunkBytes) {
    this.#write = write;
    this.#bytesMax = Math.min(bytesMax, limits.logChunkBytes);
  }

  add(line: LogLine, owner: LineOwner): void {
    let chunk = this.#waiting.at(-1);
    if (!chunk?.hasRoomFor(line, this.#bytesMax)) {
      chunk = new OpenChunk(this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#bytesMax));
      this.#waiting.push(chunk);
    }
    const length = lengthOf(line);
    chunk.add(line, length, owner);
    this.bytes += length;
    if (this.#waiting.length > 1) this.flush();
  }

  /** Writes what waits, and what comes meanwhile. */
  flush(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    if (this.#waiting.length > 0) this.flush();
    await this.#running;
  }

  async #run(): Promise<void> {
    // What others add in this turn goes out in the same chunk.
    await new Promise((resolve) => setImmediate(resolve));
    for (let chunk = this.#waiting.shift(); chunk; chunk = this.#waiting.shift()) {
      try {
        await this.#write(chunk.closed());
        for (const owner of chunk.owners) owner.written();
      } catch (error) {
        for (const owner of chunk.owners) owner.lost(error);
      }
      this.bytes -= chunk.length;
      if (this.#free.length < freeMax) this.#free.push(chunk.memory);
    }
    this.#running = undefined;
  }
}

function lengthOf(line: LogLine): number {
  let sum = 0;
  for (const { length } of line) sum += length;
  return sum;
}

/** Characters of text that are encoded at once. */
const textMax = 16 * 1024;

const bytesOf = (line: LogLine): number => line.reduce((sum, part) => sum + Buffer.byteLength(part), 0);

/** One is written while another is filled. */
const freeMax = 2;

class OpenChunk {
  readonly memory: Buffer;
  /** Of each line. */
  readonly owners: LineOwner[] = [];
  readonly #buffers: Uint8Array[] = [];
  /** The part of the memory that is filled, and the part of that which is among the buffers. */
  #used = 0;
  #closed = 0;
  /** Text behind what is filled. */
  #text = '';
  /** Without `#text`. */
  #bytes = 0;
  /** Bytes and characters. */
  length = 0;

  constructor(memory: Buffer) {
    this.memory = memory;
  }

  hasRoomFor(line: LogLine, bytesMax: number): boolean {
    // A character has three bytes at most: counting them costs more.
    if (3 * (lengthOf(line) + this.#text.length) <= bytesMax - this.#bytes) return true;
    this.#encode();
    return bytesOf(line) <= bytesMax - this.#bytes;
  }

  add(line: LogLine, length: number, owner: LineOwner): void {
    this.owners.push(owner);
    this.length += length;
    for (const part of line) {
      if (typeof part === 'string') this.#text += part;
      else this.#addBytes(part);
    }
    if (this.#text.length >= textMax) this.#encode();
  }

  #encode(): void {
    const text = this.#text;
    if (text === '') return;
    this.#text = '';
    if (this.#used + 3 * text.length > this.memory.length) {
      this.#addBytes(Buffer.from(text));
      return;
    }
    const written = this.memory.write(text, this.#used);
    this.#used += written;
    this.#bytes += written;
  }

  #addBytes(bytes: Uint8Array): void {
    this.#closeText();
    this.#buffers.push(bytes);
    this.#bytes += bytes.length;
  }

  closed(): LineChunk {
    this.#closeText();
    return { buffers: this.#buffers, bytes: this.#bytes };
  }

  #closeText(): void {
    this.#encode();
    if (this.#used > this.#closed) this.#buffers.push(this.memory.subarray(this.#closed, this.#used));
    this.#closed = this.#used;
  }
}
