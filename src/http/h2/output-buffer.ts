import { limits } from '../../base/limits.ts';

/**
 * Sizes of the pooled output buffers. Allocating and freeing memory outside the heap makes the garbage collector run
 * early and often, so some buffers of each size are kept.
 */
const sizes = [4 * 1024, 16 * 1024, 64 * 1024, 320 * 1024] as const;
const kept: readonly Buffer[][] = sizes.map(() => []);

function acquire(bytes: number): Buffer {
  const index = sizes.findIndex((size) => size >= bytes);
  const size = sizes[index];
  // More than one flush should ever hold: not pooled.
  return size === undefined ? Buffer.allocUnsafeSlow(bytes * 2) : (kept[index]?.pop() ?? Buffer.allocUnsafeSlow(size));
}

function release(buffer: Buffer): void {
  const index = sizes.indexOf(buffer.length as (typeof sizes)[number]);
  const free = kept[index];
  if (free && free.length * buffer.length < limits.outputBytesKept) free.push(buffer);
}

/** Gathers bytes for one write: TLS copies many small pieces, and a short write costs as much as a long one. */
export class OutputBuffer {
  #buffer: Buffer = noBytes;
  #used = 0;
  /** Length taken last: the next output will be similar, and growing step by step would copy it repeatedly. */
  #taken = 0;

  get length(): number {
    return this.#used;
  }

  /** Reserves `bytes` in `target` and returns their offset; the caller must fill all of them. */
  reserve(bytes: number): number {
    const at = this.#used;
    if (at + bytes > this.#buffer.length) this.#grow(at + bytes);
    this.#used = at + bytes;
    return at;
  }

  /** Drops everything after the first `bytes`. */
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

  /** Returns the gathered bytes, or the first of them, and keeps the others. Call `free` when none references them. */
  take(bytesMax = this.#used): { readonly bytes: Buffer; readonly free: () => void } {
    const buffer = this.#buffer;
    const bytes = buffer.subarray(0, Math.min(bytesMax, this.#used));
    const rest = buffer.subarray(bytes.length, this.#used);
    this.#buffer = noBytes;
    this.#taken = bytes.length;
    this.#used = 0;
    if (rest.length > 0) this.append(rest);
    return { bytes, free: () => release(buffer) };
  }
}

const noBytes = Buffer.alloc(0);
