import type { ByteSpan } from '../../base/collections/byte-span.ts';
import { limits } from '../../base/limits.ts';
import { comma } from '../../codec/json-characters.ts';

/** Size of a slab, unless one object is larger. */
export const slabBytes = limits.slabBytes;

/** Allocates the memory of a slab, without clearing it. */
export type SlabMemory = (bytes: number) => Buffer;

/** Memory of this thread alone. */
export const ownMemory: SlabMemory = (bytes) => Buffer.allocUnsafeSlow(bytes);

/**
 * Memory for objects that are neighbours in a list: contiguous, each preceded by a comma as in a JSON array. A list can be sent
 * from it without copying, and a thousand objects are one allocation.
 */
class Slab {
  readonly #memory: Buffer;
  #used = 0;

  /** `memory`: as large as the objects together, each with its comma. */
  constructor(memory: Buffer) {
    this.#memory = memory;
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
  readonly #allocate: SlabMemory;
  #left: number;
  #slab: Slab | undefined;

  constructor(total: number, memory: SlabMemory = ownMemory) {
    this.#left = total;
    this.#allocate = memory;
  }

  readonly place = (bytes: number): ByteSpan => {
    const needed = bytes + 1;
    const there = this.#slab?.place(bytes);
    if (there) {
      this.#left -= needed;
      return there;
    }
    this.#slab = new Slab(this.#allocate(Math.max(needed, Math.min(slabBytes, this.#left))));
    this.#left -= needed;
    return this.#slab.place(bytes) ?? allocate(bytes);
  };
}

/** Size of the slabs of written objects; larger ones than a part of it have memory of their own. */
const writtenSlabBytes = 16 * 1024;
const writtenShare = 4;

/**
 * Memory for objects as they are written, until they are moved next to their neighbours: several are one allocation, each
 * of which the engine tracks. An object may retain what was written beside it: slabs are small, and while little was
 * written they are smaller.
 */
export class WrittenPlaces {
  #slab: Slab | undefined;
  #placed = 0;

  readonly place = (bytes: number): ByteSpan => {
    if (bytes * writtenShare > writtenSlabBytes) return allocate(bytes);
    const needed = bytes + 1;
    this.#placed += needed;
    const there = this.#slab?.place(bytes);
    if (there) return there;
    const size = Math.min(writtenSlabBytes, Math.floor(this.#placed / writtenShare));
    if (size < 2 * needed) return allocate(bytes);
    this.#slab = new Slab(ownMemory(size));
    return this.#slab.place(bytes) ?? allocate(bytes);
  };

  /** Begins anew, with small slabs: what was placed so far is moved elsewhere. */
  reset(): void {
    this.#slab = undefined;
    this.#placed = 0;
  }
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

/** Neighbours in a list, in order. */
interface Run<Span> {
  readonly spans: Span[];
  bytes: number;
}

/**
 * The stretches of `spans` to be moved, each to a slab of its own: neighbours that lie in several short runs. A run that
 * fills half a slab stays where it is, so that a change moves no more than what is around it. Runs in memory that
 * `stays` refuses are always moved.
 */
export function* scatteredStretches<Span extends ByteSpan>(
  spans: Iterable<Span>,
  stays: (memory: Buffer) => boolean = () => true,
): IterableIterator<readonly Span[]> {
  let short: Run<Span>[] = [];
  let bytes = 0;
  const taken = (): readonly Span[] | undefined => {
    const [runs, first] = [short, short[0]?.spans[0]];
    short = [];
    bytes = 0;
    if (runs.length > 1 || (first && !stays(first.memory))) return runs.flatMap(({ spans: each }) => each);
    return undefined;
  };
  for (const run of contiguous(spans)) {
    const isKept = run.bytes >= slabBytes / 2 && stays((run.spans[0] as Span).memory);
    if (isKept || bytes + run.bytes > slabBytes) {
      const stretch = taken();
      if (stretch) yield stretch;
    }
    if (isKept) continue;
    short.push(run);
    bytes += run.bytes;
  }
  const stretch = taken();
  if (stretch) yield stretch;
}

function* contiguous<Span extends ByteSpan>(spans: Iterable<Span>): IterableIterator<Run<Span>> {
  let run: Run<Span> | undefined;
  let last: Span | undefined;
  for (const span of spans) {
    if (!run || !last || !isNext(last, span)) {
      if (run) yield run;
      run = { spans: [], bytes: 0 };
    }
    run.spans.push(span);
    run.bytes += span.end - span.start + 1;
    last = span;
  }
  if (run) yield run;
}
