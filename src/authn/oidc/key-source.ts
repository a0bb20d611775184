import { Backoff } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Random } from '../../base/random.ts';
import type { KeySet } from './key-set.ts';

interface KeySourceOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Fetches the keys as they are now. Ends by itself in bounded time. */
  readonly load: () => Promise<KeySet>;
  /** A fetch failed, for another reason than the one before it. */
  readonly failed: (error: Error) => void;
  /** Keys that count until the first fetch succeeds. */
  readonly initial?: KeySet;
  /** Tokens wait for the first fetch where nothing is known before. */
  readonly awaited?: boolean;
}

/**
 * The keys of a provider, kept up to date. They are fetched at once, and from then on every `limits.oidcKeysFreshMs`; until
 * the first time succeeds, and whenever one fails, again and again with growing pauses. While the provider is down the
 * last known keys stay in use. One fetch is under way at most.
 */
export class KeySource implements Closable {
  readonly #options: KeySourceOptions;
  readonly #ready = Promise.withResolvers<void>();
  #keys: KeySet | undefined;
  #problem: Error | undefined = new Error('its keys have not been fetched yet');
  #loading: Promise<KeySet | undefined> | undefined;
  /** When the last fetch ended. Monotonic milliseconds. */
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

  /** Undefined until they are known. The same object as long as they are the same keys. */
  get keys(): KeySet | undefined {
    return this.#keys;
  }

  /** Why the last fetch failed; undefined where it did not. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  /** Resolves when a fetch has succeeded; never, where none does. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** How many wait for what `renew` gave them. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * The keys after the fetch that is under way, or one that starts now; never rejects. Undefined where the last one ended
   * less than `limits.oidcKeysFetchMsMin` ago: what tokens say must not make this server a burden to the provider.
   */
  renew(): Promise<KeySet | undefined> | undefined {
    if (this.#loading) return this.#wait(this.#loading);
    const tooSoon = this.#options.clock.monotonic() - this.#endedAt < limits.oidcKeysFetchMsMin;
    return tooSoon || this.#closed ? undefined : this.#wait(this.#load());
  }

  /** The keys after the first fetch, where it is under way and awaited; never rejects. */
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
