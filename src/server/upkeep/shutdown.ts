import type { Logger } from '../../base/logger.ts';
import { type Clock, pause } from '../../base/time/clock.ts';
import type { Listener } from '../../http/listener.ts';

interface ShutdownOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long requests are served after a stop request. Milliseconds. */
  readonly delayMs: number;
  /** How long requests in flight may take after that. Milliseconds. */
  readonly drainMs: number;
}

interface Part {
  readonly name: string;
  readonly close: () => void | Promise<void>;
}

/**
 * Stops a server in order (design section 2): not ready at once; the delay; no new connections; watches end cleanly;
 * requests in flight finish; then the parts close, last opened first.
 */
export class Shutdown {
  readonly #options: ShutdownOptions;
  readonly #parts: Part[] = [];
  readonly #done = Promise.withResolvers<void>();
  #stopping: Promise<void> | undefined;
  /** Set once the server listens. */
  listener: Listener | undefined;
  /** Ends watches, which would not end on their own. */
  endWatches: () => void = () => {};

  constructor(options: ShutdownOptions) {
    this.#options = options;
    // Avoids an unhandled rejection if the caller ignores `done`.
    this.#done.promise.catch(() => {});
  }

  get stopping(): boolean {
    return this.#stopping !== undefined;
  }

  /** Resolves when all is closed; rejects if a part could not be. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** Adds an open part. */
  add(name: string, close: Part['close']): void {
    this.#parts.push({ name, close });
  }

  stop(): Promise<void> {
    // Deferred until `#stopping` is set, for parts that call `stop` while they close.
    this.#stopping ??= Promise.resolve()
      .then(() => this.#run())
      .then(this.#done.resolve, this.#done.reject);
    return this.#stopping;
  }

  async #run(): Promise<void> {
    const failures: unknown[] = [];
    const attempt = async (part: string, close: () => void | Promise<void>): Promise<void> => {
      try {
        await close();
      } catch (error) {
        this.#options.logger.error('a part could not be closed', { part, error });
        failures.push(error);
      }
    };
    await attempt('listener', () => this.#stopServing());
    for (const { name, close } of this.#parts.toReversed()) await attempt(name, close);
    if (failures.length > 0) throw failures[0];
  }

  async #stopServing(): Promise<void> {
    const { clock, delayMs, drainMs } = this.#options;
    const { listener } = this;
    // In-process clients know that the server stops, so they need no delay.
    if (listener && delayMs > 0) await pause(clock, delayMs);
    listener?.stopAccepting();
    this.endWatches();
    await listener?.drain(drainMs);
  }
}
