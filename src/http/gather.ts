import { limits } from '../base/limits.ts';

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

/** Part of a body. */
export interface Chunk {
  readonly bytes: Uint8Array;
  /** To be called when the bytes were sent, if that is known; they are written over then. */
  readonly sent?: () => void;
}

/** So large that the cost of a write, some 10 microseconds over TLS and HTTP/2, disappears beside the cost of its bytes. */
const chunkBytes = 256 * 1024;

/** From here on an item goes out as it is instead of being copied. */
const largeItemBytes = chunkBytes / 2;

/**
 * The bytes of a list, in chunks. Many small buffers are copied into one: that is cheaper than giving each to the socket
 * (items of 1 KiB, 10 MB: 6.1 ms against 6.8; one prebuilt buffer of that length takes 5.0).
 */
export function* gatherList(framing: Framing, items: Iterable<ItemBytes>): Generator<Chunk, void> {
  const separator = Buffer.from(framing.separator);
  let filling = new Filling();
  filling.put(Buffer.from(framing.head));
  let between = 0;
  for (const { bytes } of items) {
    if (!filling.fits(between + bytes.length)) {
      if (!filling.empty) {
        yield filling;
        filling = new Filling();
      }
      if (bytes.length >= largeItemBytes) {
        if (between > 0) yield { bytes: separator };
        yield { bytes };
        between = separator.length;
        continue;
      }
    }
    if (between > 0) filling.put(separator);
    filling.put(bytes);
    between = separator.length;
  }
  const tail = Buffer.from(framing.tail);
  if (!filling.fits(tail.length)) {
    yield filling;
    filling = new Filling();
  }
  filling.put(tail);
  if (!filling.empty) yield filling;
}

/** The same for pieces that need nothing between them. */
export const gatherPieces = (pieces: Iterable<Uint8Array | string>): Generator<Chunk, void> =>
  gatherList({ head: '', separator: '', tail: '' }, itemsOf(pieces));

function* itemsOf(pieces: Iterable<Uint8Array | string>): Generator<ItemBytes, void> {
  for (const piece of pieces) yield { bytes: typeof piece === 'string' ? Buffer.from(piece) : piece };
}

/**
 * Buffers that were sent and wait to be filled again. Memory outside the heap makes the collector run early and often:
 * without reuse, lists cost twice as much in a process whose heap is large.
 */
const free: Buffer[] = [];

/** A chunk that is being filled. */
class Filling implements Chunk {
  readonly #buffer = free.pop() ?? Buffer.allocUnsafeSlow(chunkBytes);
  #used = 0;

  get empty(): boolean {
    return this.#used === 0;
  }

  fits(bytes: number): boolean {
    return this.#used + bytes <= chunkBytes;
  }

  /** Only what fits. */
  put(bytes: Uint8Array): void {
    const buffer = this.#buffer;
    // A comma, mostly: copying one byte costs as much as copying a hundred.
    if (bytes.length === 1) buffer[this.#used] = bytes[0] as number;
    else buffer.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#used);
  }

  readonly sent = (): void => {
    if (free.length < limits.listChunksKept) free.push(this.#buffer);
  };
}
