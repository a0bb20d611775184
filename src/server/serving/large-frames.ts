import type { Clock } from '../../base/clock.ts';
import type { Closable } from '../../base/disposable.ts';
import { TimeSlice } from '../../base/time-slice.ts';

/** What became of a frame that was waited for. */
export type MadeFrame = { readonly frame: Buffer } | { readonly error: unknown };

interface Making {
  readonly abort: AbortController;
  readonly waiting: Set<(made: MadeFrame) => void>;
}

/**
 * Frames of large objects on their way from the thread for heavy work: each is made once for all watches that wait for it, and
 * given up when none does any more.
 */
export class LargeFrames {
  readonly #clock: Clock;
  /** By what is told, and by the form that it is told in. */
  readonly #making = new WeakMap<object, Map<string, Making>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether that frame of `told` is being made. */
  has(told: object, form: string): boolean {
    return this.#making.get(told)?.has(form) ?? false;
  }

  /**
   * Calls `take` once with the frame, unless closed before. `make` is called where nobody waits for that frame yet. Watches that
   * wait for the same one are told in slices of time. `take` throws nothing.
   */
  wait(
    { told, form, make }: { told: object; form: string; make(signal: AbortSignal): Promise<Buffer> },
    take: (made: MadeFrame) => void,
  ): Closable {
    const forms = this.#making.get(told) ?? new Map<string, Making>();
    this.#making.set(told, forms);
    const known = forms.get(form);
    const making = known ?? { abort: new AbortController(), waiting: new Set() };
    const { waiting, abort } = making;
    waiting.add(take);
    const forget = (): void => {
      if (forms.get(form) === making) forms.delete(form);
    };
    if (!known) {
      forms.set(form, making);
      void this.#tell(make(abort.signal), waiting, forget);
    }
    return {
      close() {
        if (!waiting.delete(take) || waiting.size > 0) return;
        forget();
        abort.abort();
      },
    };
  }

  async #tell(frame: Promise<Buffer>, waiting: Making['waiting'], forget: () => void): Promise<void> {
    const made = await frame.then(
      (bytes): MadeFrame => ({ frame: bytes }),
      (error: unknown): MadeFrame => ({ error }),
    );
    const slice = new TimeSlice(this.#clock);
    for (const take of waiting) {
      if (slice.over) await slice.next();
      // Those that ended meanwhile have left.
      if (waiting.delete(take)) take(made);
    }
    forget();
  }
}
