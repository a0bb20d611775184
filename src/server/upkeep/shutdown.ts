import { type Clock, pause } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Listener } from '../../http/listener.ts';

interface ShutdownOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long requests are still served after a stop was asked for. Milliseconds. */
  readonly delayMs: number;
  /** How long requests in flight may take after that. Milliseconds. */
  readonly drainMs: number;
}

interface Part {
  readonly name: string;
  readonly close: () => void | Promise<void>;
}

/**
 * The end of a server, in order (design section 2): not ready at once; the delay; no new connections; watches end
 * cleanly; requests in flight finish; then the parts close, the last one opened first.
 */
export class Shutdown {
  readonly #options: ShutdownOptions;
  readonly #parts: Part[] = [];
  readonly #done = Promise.withResolvers<void>();
  #stopping: Promise<void> | undefined;
  /** Set once there is one. */
  listener: Listener | undefined;
  /** Ends what would never end by itself. */
  endWatches: () => void = () => {};

  constructor(options: ShutdownOptions) {
    this.#options = options;
    // Whoever does not look at `done` does not want to know.
    this.#done.promise.catch(() => {});
  }

  get stopping(): boolean {
    return this.#stopping !== undefined;
  }

  /** Resolves when all is closed; rejects when a part could not be. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** Adds a part that is open now. */
  add(name: string, close: Part['close']): void {
    this.#parts.push({ name, close });
  }

  stop(): Promise<void> {
    // Begun when this is set: a part that stops the server while it closes must find that somebody does already.
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
    // Clients in process know that the server stops.
    if (listener && delayMs > 0) await pause(clock, delayMs);
    listener?.stopAccepting();
    this.endWatches();
    await listener?.drain(drainMs);
  }
}
