import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import { SharedLook } from '../../base/shared-look.ts';
import { Backoff } from '../../base/time/backoff.ts';
import { type Clock, pause } from '../../base/time/clock.ts';
import { inTime } from '../../base/time/in-time.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ValueTransformer } from '../value-transformer.ts';
import { aesCbc, aesGcm } from './aes.ts';
import type { Cipher } from './cipher.ts';
import {
  type EncryptionRule,
  type KeyedProvider,
  type ProviderSpec,
  readEncryptionConfiguration,
} from './encryption-configuration.ts';
import type { EncryptionMetrics } from './encryption-metrics.ts';
import type { KmsConnection, KmsEndpoint } from './kms/kms-connection.ts';
import { KmsProvider } from './kms/kms-provider.ts';
import { identityProvider, keyedProvider, type Provider } from './provider-chain.ts';
import { ResourceEncryption, type ResourceProviders } from './resource-encryption.ts';

export interface EncryptionOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Path of the configuration, for messages. */
  readonly file: string;
  readonly metrics: EncryptionMetrics;
  /** Identifies this server in metrics, as a hash. */
  readonly serverId: string;
  /** The configuration may be replaced later. */
  readonly reload: boolean;
  /** Connects to a KMS plugin; called only if there is one. */
  readonly connectKms: (endpoint: KmsEndpoint) => Promise<KmsConnection>;
  /**
   * Reads the configuration again if it has changed, and calls `replace`: another server may have written with a key that
   * this one has not read yet. Absent if it is not followed.
   */
  readonly look?: (() => void) | undefined;
  /** Called when values may be readable that were not before. */
  readonly onReadable: () => void;
  /** Called for each replacement of the configuration that succeeded or failed. */
  readonly reloaded: (status: 'success' | 'failure') => void;
}

/** Providers in use, and what they hold. */
interface Loaded {
  readonly rules: readonly ResourceProviders[];
  readonly kms: readonly KmsProvider[];
  /** What all plugins together may take for a call, twice: calls under way have ended by then. Milliseconds. */
  readonly graceMs: number;
}

/**
 * Encryption at rest, by an EncryptionConfiguration (design section 5). A new configuration replaces the one in use only
 * if it is valid and its plugins are healthy; until then the one before stays. It is tried again by itself where it was
 * plugins that failed.
 */
export class Encryption implements Closable {
  readonly #options: EncryptionOptions;
  readonly #values: ResourceEncryption;
  readonly #ended = new AbortController();
  readonly #retries: Backoff;
  #content: Uint8Array;
  /** The newest content that was asked for. */
  #wanted: Uint8Array;
  #loaded: Loaded;
  #retry: Closable | undefined;
  /** Replacements run one at a time. */
  #work: Promise<void> = Promise.resolve();

  private constructor(content: Uint8Array, loaded: Loaded, options: EncryptionOptions) {
    const { clock, random, metrics, reload, dialect } = options;
    this.#options = options;
    this.#content = content;
    this.#wanted = content;
    this.#loaded = loaded;
    this.#retries = new Backoff({ firstMs: limits.encryptionRetryMsMin, maxMs: limits.encryptionRetryMsMax }, random);
    const { encryptedPrefix } = dialect;
    const sharedLook = new SharedLook({
      ...{ clock, everyMs: limits.encryptionUnknownKeyLookMs, signal: this.#ended.signal },
      look: () => this.#look(),
    });
    this.#values = new ResourceEncryption(loaded.rules, {
      ...{ encryptedPrefix, clock, metrics, replaceable: reload },
      look: options.look && (() => sharedLook.again()),
    });
  }

  /** Rejects with an error that names what is wrong. Plugins need not answer yet. */
  static async open(content: Uint8Array, options: EncryptionOptions): Promise<Encryption> {
    return new Encryption(content, await load(content, options), options);
  }

  get transformer(): ValueTransformer {
    return this.#values;
  }

  /** There is a health check: a plugin is used, or may come to be. */
  get hasCheck(): boolean {
    return this.#options.reload || this.#loaded.kms.length > 0;
  }

  /** What is wrong with the plugins, undefined if they are all healthy. Never rejects. */
  problem(): Promise<string | undefined> {
    return problemOf(this.#loaded.kms);
  }

  /** Resolves when the content is in use or was rejected. Never rejects. */
  replace(content: Uint8Array): Promise<void> {
    this.#wanted = content;
    this.#retry?.close();
    this.#work = this.#work.then(() => this.#replace(content));
    return this.#work;
  }

  /** Reports content that cannot be read or used. */
  failed(error: unknown): void {
    const { logger, file, reloaded } = this.#options;
    logger.error('the encryption configuration is not reloaded; the one before it stays in use', { file, error });
    reloaded('failure');
  }

  close(): void {
    this.#ended.abort();
    this.#retry?.close();
    for (const provider of this.#loaded.kms) provider.close();
  }

  /** What it found is in use when this resolves, unless plugins are slow. */
  async #look(): Promise<void> {
    this.#options.look?.();
    await inTime(this.#work, limits.encryptionUnknownKeyWaitMs, this.#options);
  }

  async #replace(content: Uint8Array): Promise<void> {
    if (content !== this.#wanted || this.#ended.signal.aborted || sameBytes(content, this.#content)) return;
    let loaded: Loaded | undefined;
    try {
      loaded = await load(content, this.#options);
      const problem = await this.#whenHealthy(loaded);
      if (this.#ended.signal.aborted) return closeAll(loaded);
      if (problem !== undefined) throw new Error(`health check for new transformers failed: ${problem}`);
    } catch (error) {
      this.failed(error);
      if (!loaded) return;
      closeAll(loaded);
      this.#retry = this.#options.clock.after(this.#retries.next(), () => void this.replace(this.#wanted));
      return;
    }
    const before = this.#loaded;
    this.#loaded = loaded;
    this.#content = content;
    this.#values.replace(loaded.rules);
    this.#retries.reset();
    this.#options.clock.after(before.graceMs, () => closeAll(before));
    const { logger, file, reloaded, onReadable } = this.#options;
    logger.info('the encryption configuration was reloaded', { file });
    reloaded('success');
    onReadable();
  }

  /** Waits until all plugins are healthy, as long as that may take; else what is wrong. */
  async #whenHealthy({ kms, graceMs }: Loaded): Promise<string | undefined> {
    const { clock } = this.#options;
    const { signal } = this.#ended;
    const giveUpAtMs = clock.monotonic() + Math.max(graceMs, limits.encryptionReloadMsMax);
    for (;;) {
      const problem = await problemOf(kms);
      if (problem === undefined || signal.aborted || clock.monotonic() >= giveUpAtMs) return problem;
      await pause(clock, limits.encryptionReloadLookMs, signal);
    }
  }
}

const sameBytes = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;

const closeAll = ({ kms }: Loaded): void => {
  for (const provider of kms) provider.close();
};

async function problemOf(kms: readonly KmsProvider[]): Promise<string | undefined> {
  const problems = await Promise.all(kms.map((provider) => provider.check()));
  const found = problems.flatMap((problem, index) =>
    problem === undefined ? [] : [`kms-provider-${index}: ${problem}`],
  );
  return found.length === 0 ? undefined : found.join('; ');
}

async function load(content: Uint8Array, options: EncryptionOptions): Promise<Loaded> {
  const rules = readEncryptionConfiguration(content, options);
  const kms: KmsProvider[] = [];
  const opened: ResourceProviders[] = [];
  const open = (spec: ProviderSpec): Promise<Provider> => openProvider(spec, options, kms);
  for (const { resources, providers } of rules) {
    const [first, ...others] = providers;
    const made: [Provider, ...Provider[]] = [await open(first)];
    for (const other of others) made.push(await open(other));
    opened.push({ resources, providers: made });
  }
  await Promise.all(kms.map((provider) => provider.start()));
  return { rules: opened, kms, graceMs: 2 * timeoutsOf(rules) };
}

const timeoutsOf = (rules: readonly EncryptionRule[]): number =>
  rules
    .flatMap(({ providers }) => providers)
    .reduce((sum, provider) => sum + (provider.type === 'kms' ? provider.timeoutMs : 0), 0);

async function openProvider(spec: ProviderSpec, options: EncryptionOptions, kms: KmsProvider[]): Promise<Provider> {
  const { dialect, random, connectKms } = options;
  const { encryptedPrefix } = dialect;
  switch (spec.type) {
    case 'identity':
      return identityProvider(encryptedPrefix);
    case 'kms': {
      const provider = new KmsProvider({
        ...{ ...options, encryptedPrefix, name: spec.name },
        connection: await connectKms(spec),
      });
      kms.push(provider);
      return provider;
    }
    default: {
      const make = await cipherOf(spec.type);
      const keys = spec.keys.map(({ name, secret }) => ({ name, cipher: make(secret, random) }));
      return keyedProvider(`${encryptedPrefix}${spec.type}:v1:`, keys);
    }
  }
}

async function cipherOf(type: KeyedProvider): Promise<(secret: Uint8Array, random: Random) => Cipher> {
  switch (type) {
    case 'aescbc':
      return aesCbc;
    case 'aesgcm':
      return aesGcm;
    case 'secretbox':
      return (await import('./secretbox.ts')).secretbox;
  }
}
