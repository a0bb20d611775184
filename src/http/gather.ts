/** Bytes that stand for one item: an entry of the cache, or what was made of it. */
export interface ItemBytes {
  readonly bytes: Uint8Array;
}

/** What stands around and between items. */
export interface Framing {
  readonly head: string;
  readonly separator: string;
  readonly tail: string;
}

/**
 * Chunk sizes: the first is small enough to be a short list's only one and to come from the ordinary heap, the rest
 * large enough that the cost of a write, some 10 microseconds over TLS and HTTP/2, disappears beside its bytes.
 */
const firstChunkBytes = 64 * 1024;
const chunkBytes = 128 * 1024;

/** From here on an item goes out as it is instead of being copied. */
const largeItemBytes = chunkBytes / 2;

/**
 * The bytes of a list, in chunks. Copying many small buffers into one is cheaper than giving each to the socket: measured
 * with items of 1 KiB, 6.1 ms against 6.8 for 10 MB, where writing one prebuilt buffer takes 5.0. Chunks are never reused.
 */
export function* gatherList(framing: Framing, items: Iterable<ItemBytes>): Generator<Uint8Array, void> {
  const separator = Buffer.from(framing.separator);
  const chunk = new Chunk();
  yield* chunk.add(Buffer.from(framing.head));
  let first = true;
  for (const { bytes } of items) {
    const before = first ? 0 : separator.length;
    if (!chunk.fits(before + bytes.length)) {
      if (!first) yield* chunk.add(separator);
      yield* chunk.add(bytes);
    } else {
      if (!first) chunk.put(separator);
      chunk.put(bytes);
    }
    first = false;
  }
  yield* chunk.add(Buffer.from(framing.tail));
  yield* chunk.rest();
}

/** The same for pieces that need nothing between them. */
export function* gatherPieces(pieces: Iterable<Uint8Array | string>): Generator<Uint8Array, void> {
  const chunk = new Chunk();
  for (const piece of pieces) yield* chunk.add(typeof piece === 'string' ? Buffer.from(piece) : piece);
  yield* chunk.rest();
}

/** The chunk that is being filled. */
class Chunk {
  #bytes = Buffer.allocUnsafe(firstChunkBytes);
  #used = 0;

  fits(bytes: number): boolean {
    return this.#used + bytes <= this.#bytes.length;
  }

  /** Only what fits. */
  put(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  /** Yields what became full. */
  *add(bytes: Uint8Array): Generator<Uint8Array, void> {
    if (this.fits(bytes.length)) {
      this.put(bytes);
      return;
    }
    yield* this.rest();
    if (bytes.length >= largeItemBytes) {
      yield bytes;
      return;
    }
    this.#bytes = Buffer.allocUnsafe(chunkBytes);
    this.put(bytes);
  }

  /** Yields what is left, if anything; the chunk is full then. */
  *rest(): Generator<Uint8Array, void> {
    if (this.#used > 0) yield this.#bytes.subarray(0, this.#used);
    this.#bytes = full;
    this.#used = 0;
  }
}

const full = Buffer.alloc(0);
