import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Random } from '../../base/random.ts';
import { Backoff } from '../../base/time/backoff.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { KeySet } from './key-set.ts';

interface KeySourceOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Fetches the current keys. Settles in bounded time. */
  readonly load: () => Promise<KeySet>;
  /** Called when a fetch fails, unless the previous one failed with the same message. */
  readonly failed: (error: Error) => void;
  /** Keys to use until the first fetch succeeds. */
  readonly initial?: KeySet;
  /** Whether tokens wait for the first fetch if no keys are known. */
  readonly awaited?: boolean;
}

/**
 * A provider's keys, kept up to date. Fetches immediately and then every `limits.oidcKeysFreshMs`; after a failure with
 * exponential back-off. While the provider is down, the last known keys stay in use. At most one fetch runs at a time.
 */
export class KeySource implements Closable {
  readonly #options: KeySourceOptions;
  readonly #ready = Promise.withResolvers<void>();
  #keys: KeySet | undefined;
  #problem: Error | undefined = new Error('its keys have not been fetched yet');
  #loading: Promise<KeySet | undefined> | undefined;
  /** End of the last fetch. Monotonic milliseconds. */
  #endedAt = Number.NEGATIVE_INFINITY;
  readonly #backoff: Backoff;
  #fetched = false;
  #waiting = 0;
  #timer: Closable | undefined;
  #closed = false;

  constructor(options: KeySourceOptions) {
    this.#options = options;
    this.#backoff = new Backoff({ firstMs: limits.oidcRetryMs, maxMs: limits.oidcRetryMsMax }, options.random);
    this.#keys = options.initial;
    this.#load();
  }

  /** Undefined until known. The same object as long as the keys are the same. */
  get keys(): KeySet | undefined {
    return this.#keys;
  }

  /** Error of the last fetch; undefined if it succeeded. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  /** Resolves when a fetch has succeeded; pending until then. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Number of waiters for promises of `renew` and `first`. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * The keys after the pending fetch, or after one that starts now; never rejects. Undefined if the last fetch ended
   * less than `limits.oidcKeysFetchMsMin` ago, so that tokens cannot make this server flood the provider.
   */
  renew(): Promise<KeySet | undefined> | undefined {
    if (this.#loading) return this.#wait(this.#loading);
    const tooSoon = this.#options.clock.monotonic() - this.#endedAt < limits.oidcKeysFetchMsMin;
    return tooSoon || this.#closed ? undefined : this.#wait(this.#load());
  }

  /** The keys after the first fetch if it is pending and `awaited` is set; never rejects. */
  first(): Promise<KeySet | undefined> | undefined {
    return this.#options.awaited && !this.#fetched && this.#loading ? this.#wait(this.#loading) : undefined;
  }

  async #wait(loading: Promise<KeySet | undefined>): Promise<KeySet | undefined> {
    this.#waiting += 1;
    try {
      return await loading;
    } finally {
      this.#waiting -= 1;
    }
  }

  #load(): Promise<KeySet | undefined> {
    this.#timer?.close();
    this.#loading = this.#attempt().finally(() => {
      this.#loading = undefined;
      this.#fetched = true;
      this.#endedAt = this.#options.clock.monotonic();
    });
    return this.#loading;
  }

  async #attempt(): Promise<KeySet | undefined> {
    try {
      this.#succeed(await this.#options.load());
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
    return this.#keys;
  }

  #succeed(keys: KeySet): void {
    if (this.#closed) return;
    if (keys.fingerprint !== this.#keys?.fingerprint) this.#keys = keys;
    this.#problem = undefined;
    this.#backoff.reset();
    this.#ready.resolve();
    this.#loadAfter(limits.oidcKeysFreshMs);
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    if (error.message !== this.#problem?.message) this.#options.failed(error);
    this.#problem = error;
    this.#loadAfter(this.#backoff.next());
  }

  #loadAfter(delayMs: number): void {
    this.#timer = this.#options.clock.after(delayMs, () => this.#load());
  }

  close(): void {
    this.#closed = true;
    this.#timer?.close();
  }
}
