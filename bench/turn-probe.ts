import type { Inspector } from './inspector.ts';

/**
 * The longest turn of the event loop of a process, in CPU time of its main thread: what else runs on the machine does not
 * count. A look each millisecond, so a turn may be shown with what ran in the millisecond before it.
 */
export class TurnProbe {
  readonly #inspector: Inspector;

  private constructor(inspector: Inspector) {
    this.#inspector = inspector;
  }

  static async start(inspector: Inspector): Promise<TurnProbe> {
    await inspector.run(measureTurns);
    return new TurnProbe(inspector);
  }

  /** Milliseconds, of the turns since this was asked last. */
  takeLongest(): Promise<number> {
    return this.#inspector.run(() => (globalThis as MeasuredProcess).takeLongestTurn?.() ?? 0);
  }
}

type MeasuredProcess = typeof globalThis & { takeLongestTurn?: () => number };

/** Runs in the process. */
function measureTurns(): void {
  const usedMicros = (): number => {
    const { user, system } = process.threadCpuUsage();
    return user + system;
  };
  let longest = 0;
  let last = usedMicros();
  setInterval(() => {
    longest = Math.max(longest, usedMicros() - last);
    last = usedMicros();
  }, 1).unref();
  (globalThis as MeasuredProcess).takeLongestTurn = () => {
    const taken = longest;
    longest = 0;
    return taken / 1000;
  };
}
