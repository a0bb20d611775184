import type { Closable } from '../disposable.ts';

/** Time, injected so that tests run on a frozen clock. All durations are milliseconds. */
export interface Clock {
  /** Wall-clock time, milliseconds since the Unix epoch. */
  now(): number;
  /** Never goes back; only differences are meaningful. */
  monotonic(): number;
  /**
   * Runs `callback` once after `delayMs`; closing the result before then cancels it. Does not keep the process alive.
   */
  after(delayMs: number, callback: () => void): Closable;
}

/** Waits for the delay, or until the signal aborts. Never rejects. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const stop = (): void => {
      timer.close();
      resolve();
    };
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** As a global it is an accessor of Node.js, which costs a call each time. */
const { performance } = globalThis;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return { close: () => clearTimeout(timer) };
  },
};

/** The system clock with a fixed wall-clock time, for work that belongs to one moment elsewhere. */
export const clockAt = (nowMs: number): Clock => ({ ...systemClock, now: () => nowMs });

/** Keeps the process alive until it is closed; timers of a clock do not. */
export function keepAlive(): Closable {
  const timer = setInterval(() => {}, 2 ** 31 - 1);
  return { close: () => clearInterval(timer) };
}

/** As `pause`, but keeps the process alive meanwhile. */
export async function pauseAlive(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  const alive = keepAlive();
  await pause(clock, delayMs, signal);
  alive.close();
}

/** Timers run in one `advance` of a manual clock; no test sets this many. */
const timersAtOnceMax = 1_000_000;

/** A clock that stands still until `advance` is called. */
export class ManualClock implements Clock {
  #now: number;
  readonly #start: number;
  #timers: { readonly due: number; readonly callback: () => void }[] = [];

  constructor(nowMs = Date.UTC(2026, 0, 1)) {
    this.#now = nowMs;
    this.#start = nowMs;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - this.#start;
  }

  after(delayMs: number, callback: () => void): Closable {
    const timer = { due: this.#now + delayMs, callback };
    this.#timers.push(timer);
    return {
      close: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  /** Timers that have neither run nor been canceled. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Advances the time and runs the due timers in order. Throws if timers keep setting each other endlessly. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let ran = 0; ; ran++) {
      if (ran > timersAtOnceMax) throw new Error(`timers without end at ${this.#now} ms`);
      const next = this.#timers.filter((timer) => timer.due <= end).sort((a, b) => a.due - b.due)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now = next.due;
      next.callback();
    }
    this.#now = end;
  }
}
