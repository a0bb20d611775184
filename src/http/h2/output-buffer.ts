import { limits } from '../../base/limits.ts';

/**
 * Memory for bytes on their way to sockets. It lies outside the heap, where making and dropping it makes the collector run
 * early and often; so some of each size is kept.
 */
const sizes = [4 * 1024, 16 * 1024, 64 * 1024, 320 * 1024] as const;
const kept: readonly Buffer[][] = sizes.map(() => []);

function acquire(bytes: number): Buffer {
  const index = sizes.findIndex((size) => size >= bytes);
  const size = sizes[index];
  // More than a flush should ever hold: not worth keeping.
  return size === undefined ? Buffer.allocUnsafeSlow(bytes * 2) : (kept[index]?.pop() ?? Buffer.allocUnsafeSlow(size));
}

function release(buffer: Buffer): void {
  const index = sizes.indexOf(buffer.length as (typeof sizes)[number]);
  const free = kept[index];
  if (free && free.length * buffer.length < limits.outputBytesKept) free.push(buffer);
}

/** Bytes that are gathered to go out in one write: TLS copies many small pieces, and costs as much for a short write as for a long one. */
export class OutputBuffer {
  #buffer: Buffer = noBytes;
  #used = 0;
  /** Taken last: about as much comes next, and growing to it step by step would copy it as often. */
  #taken = 0;

  get length(): number {
    return this.#used;
  }

  /** Where `bytes` can be written, in `target` from `at` on; all of them must be. */
  reserve(bytes: number): number {
    const at = this.#used;
    if (at + bytes > this.#buffer.length) this.#grow(at + bytes);
    this.#used = at + bytes;
    return at;
  }

  /** Drops what was added after the first `bytes`. */
  truncate(bytes: number): void {
    this.#used = bytes;
  }

  /** Valid until `reserve` is called again. */
  get target(): Buffer {
    return this.#buffer;
  }

  append(bytes: Uint8Array): void {
    const at = this.reserve(bytes.length);
    this.#buffer.set(bytes, at);
  }

  #grow(bytes: number): void {
    const larger = acquire(Math.max(bytes, Math.min(this.#taken, sizes[sizes.length - 1] as number)));
    if (this.#used > 0) larger.set(this.#buffer.subarray(0, this.#used));
    release(this.#buffer);
    this.#buffer = larger;
  }

  /** Hands over what was gathered, and begins anew. `free` is to be called when nobody looks at it any more. */
  take(): { readonly bytes: Buffer; readonly free: () => void } {
    const buffer = this.#buffer;
    const bytes = buffer.subarray(0, this.#used);
    this.#buffer = noBytes;
    this.#taken = this.#used;
    this.#used = 0;
    return { bytes, free: () => release(buffer) };
  }
}

const noBytes = Buffer.alloc(0);
