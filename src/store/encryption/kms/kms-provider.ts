import { createHash } from 'node:crypto';
import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Random } from '../../../base/random.ts';
import { hashedLabel } from '../../../base/reload-reports.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { ReadValue } from '../../value-transformer.ts';
import { aesGcm, extendedNonceGcm, seedBytes } from '../aes.ts';
import { type Cipher, Undecryptable } from '../cipher.ts';
import type { EncryptionMetrics } from '../encryption-metrics.ts';
import type { Provider } from '../provider-chain.ts';
import { keyIdProblem, seedIdOf, seedProblem } from './encrypted-seed.ts';
import { KmsCallError, type KmsConnection } from './kms-connection.ts';
import {
  decodeEncryptedValue,
  type EncryptedValue,
  encodeEncryptedValue,
  encodeSeedFields,
  type KmsMethod,
  type KmsStatus,
  kmsDecrypt,
  kmsEncrypt,
  kmsStatus,
  seedTypes,
} from './messages.ts';
import { type DecryptedSeed, SeedCache } from './seed-cache.ts';

interface KmsProviderOptions {
  readonly name: string;
  /** See `Dialect`. */
  readonly encryptedPrefix: string;
  readonly connection: KmsConnection;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: EncryptionMetrics;
  /** Identifies this server in metrics, as a hash. */
  readonly serverId: string;
  /** Called when values may be readable that were not. */
  readonly onReadable: () => void;
}

/** The seed that encrypts, with what is stored of it. */
interface WriteSeed {
  readonly keyId: string;
  readonly fields: Buffer;
  readonly cipher: Cipher;
  readonly used: () => void;
  /** Monotonic. */
  expiresAtMs: number;
}

/**
 * Encrypts values with keys of a local seed that a plugin has encrypted (KMS v2), so that no write waits for the plugin:
 * - The status of the plugin is asked for every minute. When it names another key, a new seed is made and encrypted.
 * - Without a good status, the last seed goes on for `limits.kmsSeedWriteMs`; then writes fail until there is one.
 * - A value of an unknown seed waits for the plugin once, together with all others of that seed. A seed that the plugin
 *   does not decrypt, or not to one that opens values, is tried again by itself; meanwhile its values are unreadable.
 */
export class KmsProvider implements Provider, Closable {
  readonly prefix: string;
  readonly changes = true;
  readonly #options: KmsProviderOptions;
  readonly #seeds: SeedCache;
  #seed: WriteSeed | undefined;
  #version = '';
  #last: { readonly atMs: number; readonly problem: string | undefined } | undefined;
  #checking: Promise<string | undefined> | undefined;
  #poll: Closable | undefined;
  #closed = false;

  constructor(options: KmsProviderOptions) {
    this.#options = options;
    this.prefix = `${options.encryptedPrefix}kms:v2:${options.name}:`;
    this.#seeds = new SeedCache({ ...options, decrypt: (value) => this.#decrypt(value) });
  }

  /** Asks for the status once, and from then on regularly. Resolves to the problem, which does not end the attempts. */
  async start(): Promise<string | undefined> {
    const problem = await this.check();
    if (this.#closed) return problem;
    const delayMs = problem === undefined ? limits.kmsPollMs : limits.kmsPollFailingMs;
    this.#poll = this.#options.clock.after(delayMs, () => void this.start());
    return problem;
  }

  /** What is wrong with the plugin; undefined if it is healthy. Answers are shared for some seconds. Never rejects. */
  check(): Promise<string | undefined> {
    const now = this.#options.clock.monotonic();
    if (this.#last) {
      const { atMs, problem } = this.#last;
      const sharedMs = problem === undefined ? limits.kmsHealthyMs : limits.kmsUnhealthyMs;
      if (now - atMs < sharedMs) return Promise.resolve(problem);
    }
    this.#checking ??= this.#probe().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  seal(bytes: Uint8Array, at: string): Uint8Array {
    const seed = this.#seed;
    if (!seed) throw new Error(`KMS provider ${this.#options.name} has not encrypted a key yet`);
    const { clock } = this.#options;
    const overdueMs = clock.monotonic() - seed.expiresAtMs;
    if (overdueMs > 0) {
      const hash = JSON.stringify(hashedLabel(seed.keyId));
      const since = new Date(clock.now() - overdueMs).toISOString();
      throw new Error(`encryptedDEKSource with keyID hash ${hash} expired at ${since}`);
    }
    seed.used();
    return encodeEncryptedValue(seed.cipher.seal(bytes, at), seed.fields);
  }

  open(sealed: Uint8Array, at: string): ReadValue | Promise<ReadValue> {
    const value = decodeEncryptedValue(sealed);
    if (value.data.length === 0) throw new Undecryptable('encrypted data is empty');
    const problem = seedProblem(value);
    if (problem !== undefined) throw new Undecryptable(problem);
    const seed = this.#seeds.of(value);
    return seed instanceof Promise ? seed.then((found) => this.#read(found, value, at)) : this.#read(seed, value, at);
  }

  close(): void {
    this.#closed = true;
    this.#poll?.close();
    this.#seeds.close();
    this.#options.connection.close();
  }

  #read(opener: Pick<Cipher, 'open'>, value: EncryptedValue, at: string): ReadValue {
    const bytes = opener.open(value.data, at);
    const seed = this.#seed;
    const stale = seed !== undefined && (value.keyId !== seed.keyId || value.seedType !== seedTypes.seed);
    return { bytes, stale };
  }

  async #probe(): Promise<string | undefined> {
    const problem = await this.#problem();
    this.#last = { atMs: this.#options.clock.monotonic(), problem };
    if (problem === undefined && !this.#closed) this.#seeds.retry();
    return problem;
  }

  async #problem(): Promise<string | undefined> {
    const { name } = this.#options;
    let status: KmsStatus;
    try {
      status = await this.#call(kmsStatus, undefined);
    } catch (error) {
      return `failed to perform status section of the healthz check for KMS Provider ${name}, error: ${messageOf(error)}`;
    }
    const problems = [...this.#statusProblems(status)];
    if (!keyIdProblem(status.keyId)) problems.push(...(await this.#rotated(status.keyId)));
    return problems.length === 0
      ? undefined
      : `kmsv2 Provider ${name} is not healthy, error: ${problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`}`;
  }

  *#statusProblems({ healthz, version, keyId }: KmsStatus): Generator<string, void> {
    const { name, metrics, clock, serverId } = this.#options;
    if (healthz !== 'ok') yield `got unexpected healthz status: ${healthz}`;
    if (version !== 'v2' && version !== 'v2beta1') yield `expected KMSv2 API version v2, got ${version}`;
    else {
      this.#version ||= version;
      if (this.#version !== version) {
        yield `KMSv2 API version should not change after the initial status response version ${this.#version}, got ${version}`;
      }
    }
    const invalid = keyIdProblem(keyId);
    if (invalid) {
      metrics.invalidKeyIds.add({ provider_name: name, error: invalid.label });
      yield `got invalid KMSv2 KeyID hash ${JSON.stringify(hashedLabel(keyId))}: ${invalid.text}`;
      return;
    }
    const labels = {
      provider_name: name,
      key_id_hash: hashedLabel(keyId),
      apiserver_id_hash: hashedLabel(serverId),
    };
    metrics.statusTimes.set(labels, clock.now() / 1000);
  }

  /** Goes on with the seed of that key, or with a new one. The seed so far stays if there is a problem, until it expires. */
  async #rotated(keyId: string): Promise<readonly string[]> {
    const { clock, random, name } = this.#options;
    // From before the calls: it bounds how old what is known of the plugin may be.
    const expiresAtMs = clock.monotonic() + limits.kmsSeedWriteMs;
    if (this.#seed?.keyId === keyId) {
      this.#seed.expiresAtMs = expiresAtMs;
      return [];
    }
    const plaintext = this.#newSeed();
    try {
      const encrypted = await this.#call(kmsEncrypt, { plaintext, uid: random.uuid() });
      const made = { ...encrypted, seedType: seedTypes.seed };
      const problem =
        seedProblem(made) ??
        (made.keyId === keyId ? undefined : 'the key that encrypted is not the one that the status names');
      if (problem !== undefined) throw new Error(problem);
      const cipher = extendedNonceGcm(plaintext, random);
      this.#seeds.add(seedIdOf(made), cipher, keyId);
      const used = this.#seeds.useOf('to_storage', keyId);
      this.#seed = { keyId, fields: encodeSeedFields(made), cipher, used, expiresAtMs };
      return [];
    } catch (error) {
      const [wanted, held] = [keyId, this.#seed?.keyId ?? ''].map((id) => JSON.stringify(hashedLabel(id)));
      return [
        `failed to rotate DEK of ${name}, errGen=${messageOf(error)}, statusKeyIDHash=${wanted}, stateKeyIDHash=${held}`,
      ];
    }
  }

  #newSeed(): Uint8Array {
    const { clock, random, metrics } = this.#options;
    const sinceMs = clock.monotonic();
    const seed = random.bytes(seedBytes);
    metrics.seedDurations.observe({}, (clock.monotonic() - sinceMs) / 1000);
    return seed;
  }

  async #decrypt({ ciphertext, keyId, annotations, seedType }: EncryptedValue): Promise<DecryptedSeed> {
    const { random } = this.#options;
    const seed = await this.#call(kmsDecrypt, { ciphertext, keyId, annotations, uid: random.uuid() }).catch((error) => {
      throw new Undecryptable(`failed to decrypt DEK, error: ${messageOf(error)}`, error);
    });
    const fingerprint = createHash('sha256').update(seed).digest('base64');
    if (seedType === seedTypes.seed) return { cipher: extendedNonceGcm(seed, random), fingerprint };
    if (![16, 24, 32].includes(seed.length)) throw new Undecryptable(`crypto/aes: invalid key size ${seed.length}`);
    return { cipher: aesGcm(seed, random), fingerprint };
  }

  async #call<Request, Response>(method: KmsMethod<Request, Response>, request: Request): Promise<Response> {
    const { connection, clock, metrics, name } = this.#options;
    const sinceMs = clock.monotonic();
    let status = 'OK';
    try {
      return await connection.call(method, request);
    } catch (error) {
      status = error instanceof KmsCallError ? error.status : 'unknown-non-grpc';
      throw error;
    } finally {
      const labels = { provider_name: name, method_name: method.path, grpc_status_code: status };
      metrics.calls.observe(labels, (clock.monotonic() - sinceMs) / 1000);
    }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
