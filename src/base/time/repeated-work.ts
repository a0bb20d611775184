import type { Closable } from '../disposable.ts';
import type { Clock } from './clock.ts';

interface RepeatedWorkOptions {
  readonly clock: Clock;
  /** From the end of a round to the start of the next one. */
  readonly intervalMs: number;
  /** One round. It should end early once `closed`. */
  readonly work: () => Promise<void>;
  /** Told of each round that fails before `close`; the next one comes all the same. */
  readonly failed: (error: unknown) => void;
}

/** Rounds of work, one after the other, until `close` or `end`. A round under way then is not interrupted; what it throws is not told. */
export class RepeatedWork implements Closable {
  readonly #options: RepeatedWorkOptions;
  #timer: Closable | undefined;
  #closed = false;
  #round: Promise<void> = Promise.resolve();

  constructor(options: RepeatedWorkOptions) {
    this.#options = options;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Starts the first round, at once or after a delay. Does not wait for it. */
  start(delayMs = 0): void {
    const begin = (): void => {
      this.#round = this.#run();
    };
    if (delayMs === 0) begin();
    else this.#timer = this.#options.clock.after(delayMs, begin);
  }

  async #run(): Promise<void> {
    const { work, failed, intervalMs } = this.#options;
    try {
      await work();
    } catch (error) {
      if (!this.#closed) failed(error);
    }
    if (!this.#closed) this.start(intervalMs);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.close();
  }

  /** Closes, and waits for the round under way. */
  async end(): Promise<void> {
    this.close();
    await this.#round;
  }
}
