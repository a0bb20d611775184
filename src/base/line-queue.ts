import { limits } from './limits.ts';
import type { LogLine } from './log-output.ts';
import { TextBytes } from './text-bytes.ts';

/** Who is told what became of lines: each line once, in any number of calls. */
export interface LineOwner {
  written(lines: number): void;
  lost(lines: number, error: unknown): void;
}

/** A line that writes itself. */
export interface TextLine {
  /** Adds the line and its end. */
  writeTo(text: TextBytes): void;
}

/** Whole lines, to be written together. */
export interface LineChunk {
  readonly buffers: readonly Uint8Array[];
  readonly bytes: number;
}

/**
 * Lines that wait to be written, in order and one chunk at a time. They become bytes at once: as objects they would live
 * long enough to keep the garbage collector busy.
 */
export class LineQueue {
  readonly #write: (chunk: LineChunk) => Promise<void>;
  readonly #bytesMax: number;
  /** Full chunks, and the open one at the end. */
  readonly #waiting: OpenChunk[] = [];
  #open: OpenChunk | undefined;
  /** The open chunk is to be written although it has room. */
  #isDue = false;
  /** Memory of written chunks. Allocation outside the heap makes the garbage collector run early and often. */
  readonly #free: Buffer[] = [];
  #running: Promise<void> | undefined;
  readonly #text = new TextBytes();
  /** What waits or is being written. */
  bytes = 0;

  /** `write` rejects if no line of the chunk was written. Chunks of several lines have `bytesMax` at most. */
  constructor(write: (chunk: LineChunk) => Promise<void>, bytesMax = limits.logChunkBytes) {
    this.#write = write;
    this.#bytesMax = Math.min(bytesMax, limits.logChunkBytes);
  }

  add(line: LogLine, owner: LineOwner): void {
    const parts = line.map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const chunk = this.#roomFor(length);
    for (const part of parts) {
      // Large objects are not copied.
      if (part.length <= copiedMax) chunk.copy(part);
      else chunk.refer(part);
    }
    this.#added(chunk, length, owner);
  }

  /** The line is written to where it stays, if there is room for it. */
  addText(line: TextLine, owner: LineOwner): void {
    const chunk = this.#open ?? this.#next();
    const text = this.#text;
    text.begin(chunk.memory, chunk.used);
    line.writeTo(text);
    if (text.memory === chunk.memory && chunk.length + text.length <= this.#bytesMax) {
      chunk.used = text.end;
      this.#added(chunk, text.length, owner);
    } else this.add([text.copy()], owner);
  }

  #roomFor(length: number): OpenChunk {
    const chunk = this.#open;
    return chunk && chunk.length + length <= this.#bytesMax ? chunk : this.#next();
  }

  #added(chunk: OpenChunk, length: number, owner: LineOwner): void {
    chunk.length += length;
    this.bytes += length;
    chunk.addOwner(owner);
  }

  #next(): OpenChunk {
    const chunk = new OpenChunk(this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#bytesMax));
    this.#open = chunk;
    this.#waiting.push(chunk);
    if (this.#waiting.length > 1) this.#running ??= this.#run();
    return chunk;
  }

  /** Writes what waits now. Full chunks are written anyway. */
  flush(): void {
    this.#isDue = this.#open !== undefined;
    if (this.#waiting.length > 0) this.#running ??= this.#run();
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    this.flush();
    while (this.#waiting.length > 0 || this.#running) {
      this.flush();
      await this.#running;
    }
  }

  async #run(): Promise<void> {
    // What others add in this turn goes out in the same chunk.
    await new Promise((resolve) => setImmediate(resolve));
    for (let chunk = this.#take(); chunk; chunk = this.#take()) {
      try {
        await this.#write(chunk.closed());
        chunk.tell((owner, lines) => owner.written(lines));
      } catch (error) {
        chunk.tell((owner, lines) => owner.lost(lines, error));
      }
      this.bytes -= chunk.length;
      if (this.#free.length < freeMax) this.#free.push(chunk.memory);
    }
    this.#running = undefined;
  }

  /** The next chunk to be written: the open one only after `flush`. */
  #take(): OpenChunk | undefined {
    if (this.#waiting[0] !== this.#open) return this.#waiting.shift();
    if (!this.#isDue) return undefined;
    this.#isDue = false;
    this.#open = undefined;
    return this.#waiting.shift();
  }
}

/** Longer parts of lines stay where they are until they are written. */
const copiedMax = 16 * 1024;

/** One is written while another is filled. */
const freeMax = 2;

class OpenChunk {
  readonly memory: Buffer;
  /** Owners of lines in order; of several lines in a row there is one. */
  readonly #owners: { readonly owner: LineOwner; lines: number }[] = [];
  readonly #buffers: Uint8Array[] = [];
  /** What of the memory is filled, and what of that is among the buffers. Bytes. */
  used = 0;
  #closed = 0;
  #last: { readonly owner: LineOwner; lines: number } | undefined;
  /** Of its lines. */
  length = 0;

  constructor(memory: Buffer) {
    this.memory = memory;
  }

  addOwner(owner: LineOwner): void {
    if (this.#last?.owner === owner) this.#last.lines += 1;
    else {
      this.#last = { owner, lines: 1 };
      this.#owners.push(this.#last);
    }
  }

  tell(each: (owner: LineOwner, lines: number) => void): void {
    for (const { owner, lines } of this.#owners) each(owner, lines);
  }

  copy(bytes: Uint8Array): void {
    // A line that is longer than a chunk.
    if (this.used + bytes.length > this.memory.length) this.refer(bytes);
    else {
      this.memory.set(bytes, this.used);
      this.used += bytes.length;
    }
  }

  refer(bytes: Uint8Array): void {
    this.#closeText();
    this.#buffers.push(bytes);
  }

  closed(): LineChunk {
    this.#closeText();
    return { buffers: this.#buffers, bytes: this.length };
  }

  #closeText(): void {
    if (this.used > this.#closed) this.#buffers.push(this.memory.subarray(this.#closed, this.used));
    this.#closed = this.used;
  }
}
