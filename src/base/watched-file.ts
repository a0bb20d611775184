import { readFileSync, statSync } from 'node:fs';
import type { Clock } from './clock.ts';
import type { Closable } from './disposable.ts';
import { limits } from './limits.ts';

/** A file as it was read at the start. */
export interface FileContent {
  readonly path: string;
  readonly content: Buffer;
}

export interface WatchedFileOptions {
  readonly path: string;
  readonly clock: Clock;
  /** Called with each new content, never with the same twice in a row. What it throws goes to `failed`. */
  readonly apply: (content: Buffer) => void;
  /** A content that cannot be read or applied; what was applied before stays. Called once for each such content. */
  readonly failed: (error: unknown) => void;
  /** Between two looks. Milliseconds. */
  readonly intervalMs?: number;
  /** After this time the file is read although it looks the same. Milliseconds. */
  readonly rereadMs?: number;
}

/**
 * A file that may change while the server runs. It is looked at from time to time rather than waited for: that also
 * notices a replaced file, a link that points elsewhere, and files of systems that report no changes.
 */
export class WatchedFile implements Closable {
  readonly #options: Required<WatchedFileOptions>;
  #content: Buffer | undefined;
  #stamp = '';
  #readAt: number;
  #problem = '';
  #timer: Closable;

  /** `content` is what the caller has read and applied already. */
  constructor(options: WatchedFileOptions, content: Buffer | undefined) {
    this.#options = { intervalMs: limits.fileLookMs, rereadMs: limits.fileRereadMs, ...options };
    this.#content = content;
    this.#readAt = options.clock.monotonic();
    this.#timer = this.#schedule();
  }

  /** Looks now. */
  check(): void {
    const { path, clock, apply, failed, rereadMs } = this.#options;
    try {
      const stamp = stampOf(path);
      const now = clock.monotonic();
      if (stamp === this.#stamp && now - this.#readAt < rereadMs) return;
      const content = readFileSync(path);
      this.#stamp = stamp;
      this.#readAt = now;
      if (this.#content?.equals(content)) {
        this.#problem = '';
        return;
      }
      this.#content = content;
      this.#problem = '';
      apply(content);
    } catch (error) {
      const problem = String(error);
      if (problem !== this.#problem) failed(error);
      this.#problem = problem;
    }
  }

  close(): void {
    this.#timer.close();
  }

  #schedule(): Closable {
    return this.#options.clock.after(this.#options.intervalMs, () => {
      this.#timer = this.#schedule();
      this.check();
    });
  }
}

/** What changes when a file is written, replaced, or linked elsewhere. */
function stampOf(path: string): string {
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  return `${dev}.${ino}.${size}.${mtimeNs}.${ctimeNs}`;
}
