import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { fillWithNoise } from '../../../base/random.ts';
import { isFullDisk } from './sqlite-error.ts';

/** What came of setting room aside. */
export type ReserveState = 'held' | 'more' | 'noRoom';

/** What is written at once: milliseconds of work. */
const stepBytes = 1024 * 1024;
/**
 * Memory for what is written, filled anew each time. The heap of this thread is too small for its collector to run: memory
 * taken for each step, 20 MiB in all, would stay with the process.
 */
const noiseBytes = 64 * 1024;

/**
 * Room on the disk beside a data file, held by a file of its own for the time when there is no other: deleting takes room
 * before it gives any back. It must do for the write-ahead log to be moved into the data file, which is how a log that
 * cannot grow comes to be of use again.
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
   * Sets a slice aside; `more` while there is more to do. Where there is no room, nothing is kept. `spareBytes`: what must
   * be left beside it, so that room which was hardly found is not lost and found again with every write.
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

  /** Makes the room free. */
  release(): void {
    rmSync(this.#file, { force: true });
  }

  /** With random bytes: some file systems give zeros no room. */
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
