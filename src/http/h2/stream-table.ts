import type { ServerStream } from './stream.ts';

const slotsMin = 16;

/**
 * The open streams of a connection by their ids. A hash table with linear probing and not a Map, for the reason that
 * `Roster` gives. Ids follow each other, so that streams which are open at once seldom meet.
 */
export class StreamTable {
  #slots: (ServerStream | undefined)[] = new Array<undefined>(slotsMin).fill(undefined);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): ServerStream | undefined {
    return this.#slots[this.#find(id)];
  }

  /** Adds a stream whose id is not there. */
  add(stream: ServerStream): void {
    if (2 * (this.#size + 1) > this.#slots.length) this.#grow();
    this.#slots[this.#find(stream.id)] = stream;
    this.#size += 1;
  }

  delete(id: number): void {
    let hole = this.#find(id);
    if (!this.#slots[hole]) return;
    this.#size -= 1;
    // Streams behind move up, so that each is found from its own slot on without a gap.
    for (let at = this.#next(hole); ; at = this.#next(at)) {
      const stream = this.#slots[at];
      if (!stream) break;
      const mask = this.#slots.length - 1;
      if (((at - this.#home(stream.id)) & mask) < ((at - hole) & mask)) continue;
      this.#slots[hole] = stream;
      hole = at;
    }
    this.#slots[hole] = undefined;
  }

  /** The streams that are open now: later changes do not show. */
  values(): ServerStream[] {
    return this.#slots.filter((stream) => stream !== undefined);
  }

  /** The slot of a stream, or the empty one where it would be. */
  #find(id: number): number {
    for (let at = this.#home(id); ; at = this.#next(at)) {
      const stream = this.#slots[at];
      if (!stream || stream.id === id) return at;
    }
  }

  /** Clients use odd ids only. */
  #home(id: number): number {
    return (id >>> 1) & (this.#slots.length - 1);
  }

  #next(at: number): number {
    return (at + 1) & (this.#slots.length - 1);
  }

  #grow(): void {
    const streams = this.values();
    this.#slots = new Array<undefined>(2 * this.#slots.length).fill(undefined);
    for (const stream of streams) this.#slots[this.#find(stream.id)] = stream;
  }
}
