import type { Revision } from '../../store.ts';

/**
 * The last durable revision, in memory that all clients of a data file share: whoever learned of a write can see its
 * revision here. Only the low 32 bits are there, which are read in one step: no client is 2^32 revisions behind.
 */
export class SharedHead {
  readonly memory: SharedArrayBuffer;
  readonly #low: Int32Array;

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#low = new Int32Array(memory);
  }

  /** Called by the thread that owns the file, before any client is told of the revision. */
  set(revision: Revision): void {
    Atomics.store(this.#low, 0, revision | 0);
  }

  /** `known`: a revision that was durable before. */
  since(known: Revision): Revision {
    return known + ((Atomics.load(this.#low, 0) - known) >>> 0);
  }
}
