import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Random } from '../../../base/random.ts';
import { hashedLabel } from '../../../base/reload-reports.ts';
import { Semaphore } from '../../../base/semaphore.ts';
import { SingleFlight } from '../../../base/single-flight.ts';
import { backoffMs } from '../../../base/time/backoff.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { Cipher } from '../cipher.ts';
import type { EncryptionMetrics } from '../encryption-metrics.ts';
import { seedIdOf } from './encrypted-seed.ts';
import type { EncryptedValue } from './messages.ts';

interface SeedCacheOptions {
  /** Of the provider. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: EncryptionMetrics;
  readonly serverId: string;
  /** Has the plugin decrypt the seed of a value. */
  readonly decrypt: (value: EncryptedValue) => Promise<Cipher>;
  /** Called when seeds were decrypted that could not be before. */
  readonly onReadable: () => void;
}

/** A seed that the plugin did not decrypt. */
interface FailedSeed {
  readonly value: EncryptedValue;
  readonly error: unknown;
  readonly attempts: number;
  /** When it is tried next. Monotonic. */
  readonly dueAtMs: number;
}

/** Keys by the encrypted seed that they come from. */
export class SeedCache implements Closable {
  readonly #options: SeedCacheOptions;
  readonly #known = new Map<string, { readonly cipher: Cipher; readonly used: () => void }>();
  readonly #failed = new Map<string, FailedSeed>();
  /** Those that are tried again now. */
  readonly #retried = new Set<string>();
  readonly #flights = new SingleFlight<Cipher>();
  readonly #calls = new Semaphore(limits.kmsCallsMax);
  readonly #ended = new AbortController();
  #timer: Closable | undefined;

  constructor(options: SeedCacheOptions) {
    this.#options = options;
  }

  /** The key of a value. Concurrent questions for one seed are one call. */
  of(value: EncryptedValue): Cipher | Promise<Cipher> {
    const id = seedIdOf(value);
    const known = this.#known.get(id);
    if (known) {
      known.used();
      return known.cipher;
    }
    this.#options.metrics.seedMisses.inc();
    const failed = this.#failed.get(id);
    if (failed) throw failed.error;
    return this.#flights.run(id, () => this.#fetch(id, { ...value, data: nothing }));
  }

  add(id: string, cipher: Cipher, keyId: string): void {
    if (this.#known.size >= limits.kmsSeedsMax) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#known.set(id, { cipher, used: this.useOf('from_storage', keyId) });
    const { metrics, name: provider_name } = this.#options;
    metrics.seeds.set({ provider_name }, this.#known.size);
  }

  /** Counts uses of a key. */
  useOf(transformation_type: 'to_storage' | 'from_storage', keyId: string): () => void {
    const { metrics, clock, serverId, name } = this.#options;
    const labels = {
      transformation_type,
      provider_name: name,
      key_id_hash: hashedLabel(keyId),
      apiserver_id_hash: hashedLabel(serverId),
    };
    const [count, last] = [metrics.keyIds.of(labels), metrics.keyIdTimes.of(labels)];
    return () => {
      count.add();
      last.set(clock.now() / 1000);
    };
  }

  /** Tries all seeds again that failed. */
  retry(): void {
    if (this.#failed.size > 0) void this.#retry([...this.#failed.keys()]);
  }

  close(): void {
    this.#ended.abort();
    this.#timer?.close();
  }

  async #fetch(id: string, value: EncryptedValue): Promise<Cipher> {
    try {
      await this.#calls.acquire(this.#ended.signal);
      try {
        const cipher = await this.#options.decrypt(value);
        this.#failed.delete(id);
        this.add(id, cipher, value.keyId);
        return cipher;
      } finally {
        this.#calls.release();
      }
    } catch (error) {
      if (!this.#ended.signal.aborted) this.#fail(id, value, error);
      throw error;
    }
  }

  #fail(id: string, value: EncryptedValue, error: unknown): void {
    const { clock, random } = this.#options;
    const attempts = (this.#failed.get(id)?.attempts ?? 0) + 1;
    const delayMs = backoffMs(retries, attempts, random);
    if (this.#failed.size >= limits.kmsFailedSeedsMax && !this.#failed.has(id)) {
      const [oldest] = this.#failed.keys();
      if (oldest !== undefined) this.#failed.delete(oldest);
    }
    this.#failed.set(id, { value, error, attempts, dueAtMs: clock.monotonic() + delayMs });
    this.#schedule();
  }

  #schedule(): void {
    const { clock } = this.#options;
    if (this.#ended.signal.aborted || this.#failed.size === 0) return;
    this.#timer ??= clock.after(limits.kmsPollFailingMs, () => {
      this.#timer = undefined;
      const now = clock.monotonic();
      void this.#retry([...this.#failed].filter(([, { dueAtMs }]) => dueAtMs <= now).map(([failed]) => failed));
    });
  }

  async #retry(ids: readonly string[]): Promise<void> {
    const outcomes = await Promise.all(ids.filter((id) => !this.#retried.has(id)).map((id) => this.#retryOne(id)));
    if (outcomes.includes(true)) this.#options.onReadable();
    this.#schedule();
  }

  /** Whether it succeeded. */
  async #retryOne(id: string): Promise<boolean> {
    const failed = this.#failed.get(id);
    if (!failed) return false;
    this.#retried.add(id);
    try {
      await this.#flights.run(id, () => this.#fetch(id, failed.value));
      return true;
    } catch {
      // Noted where it failed, to be tried later.
      return false;
    } finally {
      this.#retried.delete(id);
    }
  }
}

const retries = { firstMs: limits.kmsPollFailingMs, maxMs: limits.kmsRetryMsMax };

const nothing = new Uint8Array(0);
