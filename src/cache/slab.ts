import type { ByteSpan } from '../base/byte-span.ts';
import { comma } from '../codec/json-characters.ts';

/** What a slab holds, unless one object is longer. Small enough that one object that stays keeps little else alive. */
export const slabBytes = 128 * 1024;

/**
 * Memory for objects that are neighbours in a list: side by side, a comma before each, as a list in JSON has them. A list of
 * them goes out as it stands here, and a thousand objects are one piece of memory to the allocator.
 */
class Slab {
  readonly #memory: Buffer;
  #used = 0;

  /** `bytes`: of all objects that it is for, each with its comma. */
  constructor(bytes: number) {
    this.#memory = Buffer.allocUnsafeSlow(bytes);
  }

  /** Room for one more object; undefined where there is too little. */
  place(bytes: number): ByteSpan | undefined {
    const start = this.#used + 1;
    const end = start + bytes;
    if (end > this.#memory.length) return undefined;
    this.#memory[this.#used] = comma;
    this.#used = end;
    return { memory: this.#memory, start, end };
  }
}

/** Memory of its own: for an object whose neighbours stay where they are. */
export function alone(bytes: number): ByteSpan {
  // Not from the pool that small buffers share: one object that lives long would hold the pool's 8 KiB.
  return { memory: Buffer.allocUnsafeSlow(bytes), start: 0, end: bytes };
}

/** Makes slabs one after the other for objects that come in order. `total` is about what they all weigh. */
export class SlabSequence {
  #left: number;
  #slab: Slab | undefined;

  constructor(total: number) {
    this.#left = total;
  }

  readonly place = (bytes: number): ByteSpan => {
    const needed = bytes + 1;
    const there = this.#slab?.place(bytes);
    if (there) {
      this.#left -= needed;
      return there;
    }
    this.#slab = new Slab(Math.max(needed, Math.min(slabBytes, this.#left)));
    this.#left -= needed;
    return this.#slab.place(bytes) ?? alone(bytes);
  };
}

/** Whether `next` stands behind `span` as a list has them. */
export const isNext = (span: ByteSpan, next: ByteSpan): boolean =>
  next.memory === span.memory && next.start === span.end + 1 && span.memory[span.end] === comma;

/** The same bytes in as few spans as can be: what stands side by side, with the commas between, is one. */
export function runsOf(spans: readonly ByteSpan[]): readonly ByteSpan[] {
  const runs: ByteSpan[] = [];
  let first: ByteSpan | undefined;
  let last: ByteSpan | undefined;
  for (const span of spans) {
    if (!first || !last || !isNext(last, span)) {
      if (first && last) runs.push({ memory: first.memory, start: first.start, end: last.end });
      first = span;
    }
    last = span;
  }
  if (first && last) runs.push({ memory: first.memory, start: first.start, end: last.end });
  return runs;
}
