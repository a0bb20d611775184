import { getOrAdd } from '../../base/collections/get-or-add.ts';
import type { Closable } from '../../base/disposable.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';

/** The result of encoding a frame. */
export type MadeFrame = { readonly frame: Buffer } | { readonly error: unknown };

interface Making {
  readonly abort: AbortController;
  readonly waiting: Set<(made: MadeFrame) => void>;
}

/**
 * Frames of large objects in progress on the second thread: each is encoded once for all watches that wait for it, and
 * aborted when none does any more.
 */
export class LargeFrames {
  readonly #clock: Clock;
  /** By event or entry, and by encoding. */
  readonly #making = new WeakMap<object, Map<string, Making>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True while that frame of `source` is in progress. */
  has(source: object, form: string): boolean {
    return this.#making.get(source)?.has(form) ?? false;
  }

  /**
   * Calls `take` once with the result, unless closed before. `make` is called if that frame is not in progress. Watches
   * that wait for the same frame are called in time slices. `take` must not throw.
   */
  wait(
    { source, form, make }: { source: object; form: string; make(signal: AbortSignal): Promise<Buffer> },
    take: (made: MadeFrame) => void,
  ): Closable {
    const forms = getOrAdd(this.#making, source, () => new Map<string, Making>());
    const known = forms.get(form);
    const making = known ?? { abort: new AbortController(), waiting: new Set() };
    const { waiting, abort } = making;
    waiting.add(take);
    const forget = (): void => {
      if (forms.get(form) === making) forms.delete(form);
    };
    if (!known) {
      forms.set(form, making);
      void this.#deliver(make(abort.signal), waiting, forget);
    }
    return {
      close() {
        if (!waiting.delete(take) || waiting.size > 0) return;
        forget();
        abort.abort();
      },
    };
  }

  async #deliver(frame: Promise<Buffer>, waiting: Making['waiting'], forget: () => void): Promise<void> {
    const made = await frame.then(
      (bytes): MadeFrame => ({ frame: bytes }),
      (error: unknown): MadeFrame => ({ error }),
    );
    const slice = new TimeSlice(this.#clock);
    for (const take of waiting) {
      if (slice.over) await slice.next();
      // Watches that ended in the meantime have removed themselves.
      if (waiting.delete(take)) take(made);
    }
    forget();
  }
}
