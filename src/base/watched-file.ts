import type { Closable } from './disposable.ts';
import type { Files } from './files.ts';
import { limits } from './limits.ts';
import type { Clock } from './time/clock.ts';

/** A file as read at the start. */
export interface FileContent {
  readonly path: string;
  readonly content: Buffer;
}

interface WatchOptions<Content> {
  readonly clock: Clock;
  readonly files: Files;
  /**
   * Called with each new content, never with the same content twice in a row. Errors it throws are passed to `failed`.
   */
  readonly apply: (content: Content) => void;
  /** Called once for each content that cannot be read or applied; the previously applied content stays in effect. */
  readonly failed: (error: unknown) => void;
  /** Polling interval. Milliseconds. */
  readonly intervalMs?: number;
  /** After this time the file is read although it looks unchanged. Milliseconds. */
  readonly rereadMs?: number;
}

interface WatchedFileOptions extends WatchOptions<Buffer> {
  readonly path: string;
}

interface WatchedFilesOptions extends WatchOptions<readonly Buffer[]> {
  readonly paths: readonly string[];
}

/**
 * Files that may change while the server runs and belong together: if one looks changed, all are read. They are polled
 * rather than watched: polling also detects a replaced file, a symlink with a new target, and changes on file systems
 * that do not report them.
 */
export class WatchedFiles implements Closable {
  readonly #options: Required<WatchedFilesOptions>;
  #contents: readonly Buffer[] | undefined;
  #stamp = '';
  #readAt: number;
  #problem = '';
  #timer: Closable;

  /** `contents` is what the caller has already read and applied. */
  constructor(options: WatchedFilesOptions, contents: readonly Buffer[] | undefined) {
    this.#options = { intervalMs: limits.fileLookMs, rereadMs: limits.fileRereadMs, ...options };
    this.#contents = contents;
    this.#readAt = options.clock.monotonic();
    this.#timer = this.#schedule();
  }

  /** Checks now. */
  check(): void {
    const { paths, clock, files, apply, failed, rereadMs } = this.#options;
    try {
      const stamp = paths.map((path) => files.stamp(path)).join();
      const now = clock.monotonic();
      if (stamp === this.#stamp && now - this.#readAt < rereadMs) return;
      const contents = paths.map((path) => files.read(path));
      this.#stamp = stamp;
      this.#readAt = now;
      if (isSame(this.#contents, contents)) {
        this.#problem = '';
        return;
      }
      this.#contents = contents;
      this.#problem = '';
      apply(contents);
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

const isSame = (before: readonly Buffer[] | undefined, now: readonly Buffer[]): boolean =>
  before !== undefined && now.every((content, index) => before[index]?.equals(content));

/** One file that may change while the server runs. */
export class WatchedFile implements Closable {
  readonly #files: WatchedFiles;

  /** `content` is what the caller has already read and applied. */
  constructor({ path, apply, ...options }: WatchedFileOptions, content: Buffer | undefined) {
    const applyAll = ([changed]: readonly Buffer[]): void => {
      if (changed) apply(changed);
    };
    this.#files = new WatchedFiles({ ...options, paths: [path], apply: applyAll }, content && [content]);
  }

  /** Checks now. */
  check(): void {
    this.#files.check();
  }

  close(): void {
    this.#files.close();
  }
}
