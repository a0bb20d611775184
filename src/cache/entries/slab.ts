import type { ByteSpan } from '../../base/collections/byte-span.ts';
import { comma } from '../../codec/json-characters.ts';

/** Size of a slab, unless one object is larger. Small enough that one surviving object retains little other memory. */
export const slabBytes = 128 * 1024;

/**
 * Memory for objects that are neighbours in a list: contiguous, each preceded by a comma as in a JSON array. A list can be sent
 * from it without copying, and a thousand objects are one allocation.
 */
class Slab {
  readonly #memory: Buffer;
  #used = 0;

  /** `bytes`: total size of the objects, each with its comma. */
  constructor(bytes: number) {
    this.#memory = Buffer.allocUnsafeSlow(bytes);
  }

  /** Reserves space for one more object; undefined if it does not fit. */
  place(bytes: number): ByteSpan | undefined {
    const start = this.#used + 1;
    const end = start + bytes;
    if (end > this.#memory.length) return undefined;
    this.#memory[this.#used] = comma;
    this.#used = end;
    return { memory: this.#memory, start, end };
  }
}

/** A separate allocation, for an object that is not placed next to its neighbours. */
export function allocate(bytes: number): ByteSpan {
  // Not from Node's shared buffer pool, where one long-lived object would retain 8 KiB.
  return { memory: Buffer.allocUnsafeSlow(bytes), start: 0, end: bytes };
}

/** Allocates slabs for objects that come in order. `total` is their approximate total size. */
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
    return this.#slab.place(bytes) ?? allocate(bytes);
  };
}

/** True if `next` directly follows `span`, separated by a comma. */
export const isNext = (span: ByteSpan, next: ByteSpan): boolean =>
  next.memory === span.memory && next.start === span.end + 1 && span.memory[span.end] === comma;

/** Merges contiguous spans, including the commas between them, into as few as possible. */
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
