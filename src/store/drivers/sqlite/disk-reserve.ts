import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { fillWithNoise } from '../../../base/random.ts';
import { isFullDisk } from './sqlite-error.ts';

/** The result of a step that fills the reserve. */
export type ReserveState = 'held' | 'more' | 'noRoom';

/** Bytes written per step: milliseconds of work. */
const stepBytes = 1024 * 1024;
/**
 * A buffer for the bytes to write, refilled for each step. The heap of this thread is too small to trigger garbage
 * collection: buffers allocated per step, 20 MiB in all, would never be freed.
 */
const noiseBytes = 64 * 1024;

/**
 * Disk space reserved for deletions by a file beside the data file, for when the disk is full: a deletion needs space
 * before it frees any. It must suffice to move the write-ahead log into the data file, which makes a log that cannot
 * grow usable again.
 */
export class DiskReserve {
  readonly #file: string;
  readonly #bytes: number;

  constructor(dataFile: string, bytes: number) {
    this.#file = `${dataFile}-reserve`;
    this.#bytes = bytes;
  }

  get isHeld(): boolean {
    return this.#size() >= this.#bytes;
  }

  /**
   * Reserves one slice; returns `more` until the reserve is complete. If there is no room, nothing is kept.
   * `spareBytes` must stay free besides the reserve, so that it does not alternate between held and lost with every
   * write.
   */
  hold(spareBytes: number): ReserveState {
    const size = this.#size();
    if (size >= this.#bytes) return 'held';
    if (this.#free() < this.#bytes - size + spareBytes) {
      this.release();
      return 'noRoom';
    }
    try {
      this.#extend(Math.min(stepBytes, this.#bytes - size));
      return 'more';
    } catch (error) {
      if (!isFullDisk(error)) throw error;
      this.release();
      return 'noRoom';
    }
  }

  /** Frees the space. */
  release(): void {
    rmSync(this.#file, { force: true });
  }

  /** Writes random bytes: some file systems allocate no space for zeros. */
  #extend(bytes: number): void {
    const descriptor = openSync(this.#file, 'a', 0o600);
    try {
      const noise = new Uint8Array(Math.min(noiseBytes, bytes));
      for (let written = 0; written < bytes; ) {
        fillWithNoise(noise);
        written += writeSync(descriptor, noise, 0, Math.min(noise.length, bytes - written));
      }
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }

  #size(): number {
    return statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
  }

  #free(): number {
    const { bavail, bsize } = statfsSync(dirname(this.#file));
    return bavail * bsize;
  }
}
