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
  readonly decrypt: (value: EncryptedValue) => Promise<DecryptedSeed>;
  /** Called when seeds were decrypted that could not be before, or that were wrong. */
  readonly onReadable: () => void;
}

export interface DecryptedSeed {
  readonly cipher: Cipher;
  /** The same for the same seed. */
  readonly fingerprint: string;
}

/** A seed that the plugin did not decrypt, or decrypted to one that has not opened a value yet and failed with one. */
interface FailedSeed {
  readonly value: EncryptedValue;
  readonly error: unknown;
  readonly attempts: number;
  /** When it is tried next. Monotonic. */
  readonly dueAtMs: number;
}

/** What becomes of a seed when it is used first. */
interface Trial {
  /** It opened a value, and so is the right one. */
  readonly passed: () => void;
  /** It did not: the seed is wrong, or the value is damaged. */
  readonly failed: (error: unknown) => void;
}

class KnownSeed {
  readonly used: () => void;
  /** Absent for a seed of our own. */
  readonly fingerprint: string | undefined;
  readonly #cipher: Cipher;
  #trial: Trial | undefined;

  constructor(
    { cipher, fingerprint }: { readonly cipher: Cipher; readonly fingerprint?: string },
    used: () => void,
    trial?: Trial,
  ) {
    this.#cipher = cipher;
    this.fingerprint = fingerprint;
    this.used = used;
    this.#trial = trial;
  }

  get isProven(): boolean {
    return this.#trial === undefined;
  }

  /** As of Cipher. */
  open(sealed: Uint8Array, at: string): Uint8Array {
    try {
      const bytes = this.#cipher.open(sealed, at);
      this.#trial?.passed();
      this.#trial = undefined;
      return bytes;
    } catch (error) {
      this.#trial?.failed(error);
      throw error;
    }
  }
}

/**
 * Keys by the encrypted seed that they come from. That a plugin's answer is right is known once it has opened a value. Until
 * then a value that it does not open has the plugin asked again, after a back-off and by itself, while reads go on with the
 * answer so far: other values may be sound, and a damaged one must not make every read ask the plugin.
 */
export class SeedCache implements Closable {
  readonly #options: SeedCacheOptions;
  readonly #known = new Map<string, KnownSeed>();
  readonly #failed = new Map<string, FailedSeed>();
  /** Those that are tried again now. */
  readonly #retried = new Set<string>();
  readonly #flights = new SingleFlight<KnownSeed>();
  readonly #calls = new Semaphore(limits.kmsCallsMax);
  readonly #ended = new AbortController();
  #timer: Closable | undefined;

  constructor(options: SeedCacheOptions) {
    this.#options = options;
  }

  /** The key of a value. Concurrent questions for one seed are one call. */
  of(value: EncryptedValue): Pick<Cipher, 'open'> | Promise<Pick<Cipher, 'open'>> {
    const id = seedIdOf(value);
    const known = this.#known.get(id);
    if (known) {
      known.used();
      return known;
    }
    this.#options.metrics.seedMisses.inc();
    const failed = this.#failed.get(id);
    if (failed) throw failed.error;
    return this.#flights.run(id, () => this.#fetch(id, { ...value, data: nothing }));
  }

  /** Adds a seed of our own. */
  add(id: string, cipher: Cipher, keyId: string): void {
    this.#add(id, new KnownSeed({ cipher }, this.useOf('from_storage', keyId)));
  }

  #add(id: string, seed: KnownSeed): void {
    if (this.#known.size >= limits.kmsSeedsMax && !this.#known.has(id)) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#known.set(id, seed);
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

  /** Tries all seeds again that the plugin did not decrypt. */
  retry(): void {
    const missing = [...this.#failed.keys()].filter((id) => !this.#known.has(id));
    if (missing.length > 0) void this.#retry(missing);
  }

  close(): void {
    this.#ended.abort();
    this.#timer?.close();
  }

  async #fetch(id: string, value: EncryptedValue): Promise<KnownSeed> {
    try {
      await this.#calls.acquire(this.#ended.signal);
      try {
        return this.#take(id, value, await this.#options.decrypt(value));
      } finally {
        this.#calls.release();
      }
    } catch (error) {
      if (!this.#ended.signal.aborted) this.#fail(id, value, error);
      throw error;
    }
  }

  /** The seed to go on with after an answer of the plugin. */
  #take(id: string, value: EncryptedValue, answer: DecryptedSeed): KnownSeed {
    const [before, failed] = [this.#known.get(id), this.#failed.get(id)];
    if (before && !before.isProven && before.fingerprint === answer.fingerprint) {
      this.#fail(id, value, failed?.error);
      return before;
    }
    this.#failed.delete(id);
    if (before?.isProven) return before;
    const attempts = before ? failed?.attempts : 0;
    const seed: KnownSeed = new KnownSeed(answer, this.useOf('from_storage', value.keyId), {
      passed: () => void this.#failed.delete(id),
      failed: (error) => {
        const isPlanned = this.#failed.has(id) || this.#known.get(id) !== seed;
        if (!isPlanned) this.#fail(id, value, error, attempts);
      },
    });
    this.#add(id, seed);
    return seed;
  }

  #fail(id: string, value: EncryptedValue, error: unknown, before = this.#failed.get(id)?.attempts ?? 0): void {
    const { clock, random } = this.#options;
    const attempts = before + 1;
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

  /** Whether it brought another seed. */
  async #retryOne(id: string): Promise<boolean> {
    const failed = this.#failed.get(id);
    if (!failed) return false;
    this.#retried.add(id);
    try {
      const before = this.#known.get(id);
      return (await this.#flights.run(id, () => this.#fetch(id, failed.value))) !== before;
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
