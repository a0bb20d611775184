import { SharedChunk } from '../../http/shared-chunk.ts';

/**
 * The frames that a watch has yet to write, in order. Watches with the same pending frames share one run, which is joined
 * once for all of them. Runs are immutable and linked to their continuations:
 *
 *     first(a) ── followedBy(b) ── followedBy(c)
 *                            └──── followedBy(d)       (another selector saw d as an event of another type)
 */
export class EventRun {
  /** Bytes of all frames. */
  readonly bytes: number;
  readonly #frame: Uint8Array;
  readonly #before: EventRun | undefined;
  /** The usual single continuation; others are rare. */
  #next: EventRun | undefined;
  #others: Map<Uint8Array, EventRun> | undefined;
  #chunk: SharedChunk | undefined;

  constructor(frame: Uint8Array, before?: EventRun) {
    this.#frame = frame;
    this.#before = before;
    this.bytes = (before?.bytes ?? 0) + frame.length;
  }

  /** The run extended by a frame; the same run for the same frame. */
  followedBy(frame: Uint8Array): EventRun {
    this.#next ??= new EventRun(frame, this);
    if (this.#next.#frame === frame) return this.#next;
    this.#others ??= new Map();
    let other = this.#others.get(frame);
    if (!other) {
      other = new EventRun(frame, this);
      this.#others.set(frame, other);
    }
    return other;
  }

  get chunk(): SharedChunk {
    this.#chunk ??= new SharedChunk(this.#before ? this.#joined() : this.#frame);
    return this.#chunk;
  }

  #joined(): Uint8Array {
    const all = Buffer.allocUnsafe(this.bytes);
    let run: EventRun | undefined = this;
    for (let end = all.length; run; run = run.#before) {
      end -= run.#frame.length;
      all.set(run.#frame, end);
    }
    return all;
  }
}
