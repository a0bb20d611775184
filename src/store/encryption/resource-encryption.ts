import { limits } from '../../base/limits.ts';
import type { HistogramSeries } from '../../base/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import { folderOf, resourceOf } from '../key-resource.ts';
import type { ReadValue, ValueTransformer } from '../value-transformer.ts';
import type { EncryptionMetrics } from './encryption-metrics.ts';
import { identityProvider, type Provider, ProviderChain } from './provider-chain.ts';
import { parseResource, type ResourcePattern } from './resource-pattern.ts';

/** Providers in use, in order of rules. */
export interface ResourceProviders {
  readonly resources: readonly ResourcePattern[];
  readonly providers: readonly [Provider, ...Provider[]];
}

interface ResourceEncryptionOptions {
  /** See `Dialect`. */
  readonly encryptedPrefix: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics: Pick<EncryptionMetrics, 'operations' | 'durations'>;
  /** The rules may be replaced later. */
  readonly replaceable: boolean;
  /** Replaces the rules, if there are newer ones: for values that those in use cannot read. */
  readonly look?: (() => Promise<void>) | undefined;
}

/**
 * Encrypts values by the resource of their key. The first rule that names a resource, its group or everything counts,
 * in that order of precision. Values of other resources, and of the server itself, are stored as they are.
 */
export class ResourceEncryption implements ValueTransformer {
  readonly #options: ResourceEncryptionOptions;
  #chains: ReadonlyMap<string, ProviderChain>;
  /** By folder of the store. */
  readonly #resources = new Map<string, EncryptedResource>();

  constructor(rules: readonly ResourceProviders[], options: ResourceEncryptionOptions) {
    this.#options = options;
    this.#chains = chainsOf(rules);
  }

  /** Values written from now on are encrypted by these rules; those read, decrypted by them. */
  replace(rules: readonly ResourceProviders[]): void {
    this.#chains = chainsOf(rules);
    this.#resources.clear();
  }

  formMayChange(key: string): boolean {
    const found = this.#resourceOf(key);
    return found !== undefined && (this.#options.replaceable || found.chain.changes);
  }

  toStored(bytes: Uint8Array, key: string): Uint8Array {
    return this.#resourceOf(key)?.seal(bytes, key) ?? bytes;
  }

  fromStored(bytes: Uint8Array, key: string): ReadValue | Promise<ReadValue> {
    const resource = this.#resourceOf(key);
    if (!resource) return { bytes, stale: false };
    try {
      const read = resource.open(bytes, key);
      return read instanceof Promise ? read.catch((error) => this.#openAnew(bytes, key, { resource, error })) : read;
    } catch (error) {
      if (!this.#options.look) throw error;
      return this.#openAnew(bytes, key, { resource, error });
    }
  }

  /** With the rules that a look brings, if it brings any; else the error stays. */
  async #openAnew(bytes: Uint8Array, key: string, { resource, error }: Unread): Promise<ReadValue> {
    await this.#options.look?.();
    const newer = this.#resourceOf(key);
    if (!newer || newer === resource) throw error;
    return newer.open(bytes, key);
  }

  #resourceOf(key: string): EncryptedResource | undefined {
    const folder = folderOf(key);
    if (folder === '') return undefined;
    const known = this.#resources.get(folder);
    if (known) return known;
    const resource = resourceOf(folder);
    const made = new EncryptedResource(resource, this.#chainOf(resource), this.#options);
    if (this.#resources.size >= limits.metricSeriesMax) this.#resources.clear();
    this.#resources.set(folder, made);
    return made;
  }

  #chainOf(name: string): ProviderChain | undefined {
    const { resource, group } = parseResource(name);
    const patterns = [`${resource}.${group}`, `*.${group}`, '*.*'];
    const found = patterns.find((pattern) => this.#chains.has(pattern));
    return found === undefined ? undefined : this.#chains.get(found);
  }
}

interface Unread {
  readonly resource: EncryptedResource;
  readonly error: unknown;
}

const noMatch = 'no matching prefix found';

/** By pattern; rules for the same resource are joined. */
function chainsOf(rules: readonly ResourceProviders[]): ReadonlyMap<string, ProviderChain> {
  const providers = new Map<string, readonly [Provider, ...Provider[]]>();
  for (const rule of rules) {
    for (const { resource, group } of rule.resources) {
      const pattern = `${resource}.${group}`;
      const before = providers.get(pattern);
      providers.set(pattern, before ? [...before, ...rule.providers] : rule.providers);
    }
  }
  return new Map([...providers].map(([pattern, chain]) => [pattern, new ProviderChain(chain, noMatch)]));
}

/** One resource: its chain, and the series of its metrics. */
class EncryptedResource {
  readonly chain: ProviderChain;
  readonly #name: string;
  readonly #options: ResourceEncryptionOptions;
  readonly #series = new Map<string, Series>();

  /** Values of resources without a rule are not counted. */
  readonly #isMeasured: boolean;

  constructor(name: string, chain: ProviderChain | undefined, options: ResourceEncryptionOptions) {
    this.#name = name;
    this.#isMeasured = chain !== undefined;
    this.chain = chain ?? new ProviderChain([identityProvider(options.encryptedPrefix)], noMatch);
    this.#options = options;
  }

  seal(bytes: Uint8Array, at: string): Uint8Array {
    if (!this.#isMeasured) return this.chain.seal(bytes, at);
    const { clock } = this.#options;
    const sinceMs = clock.monotonic();
    const { prefix } = this.chain.first;
    try {
      const sealed = this.chain.seal(bytes, at);
      this.#count('to_storage', prefix).done(clock.monotonic() - sinceMs);
      return sealed;
    } catch (error) {
      this.#count('to_storage', prefix).failed();
      throw error;
    }
  }

  /** Of values that wait for a plugin, its calls are part of what is measured. */
  open(stored: Uint8Array, at: string): ReadValue | Promise<ReadValue> {
    if (!this.#isMeasured) return this.chain.open(stored, at);
    const { clock } = this.#options;
    const sinceMs = clock.monotonic();
    return this.chain.open(stored, at, (provider, error) => {
      const series = this.#count('from_storage', provider ? provider.prefix || 'identity' : 'unknown');
      if (error === undefined) series.done(clock.monotonic() - sinceMs);
      else series.failed();
    });
  }

  #count(transformation_type: 'to_storage' | 'from_storage', transformer_prefix: string): Series {
    const name = transformation_type + transformer_prefix;
    const known = this.#series.get(name);
    if (known) return known;
    const { operations, durations } = this.#options.metrics;
    const labels = { resource: this.#name, transformation_type, transformer_prefix };
    let ok: { add(): void } | undefined;
    let seconds: HistogramSeries | undefined;
    const made: Series = {
      done(ms) {
        ok ??= operations.of({ ...labels, status: 'OK' });
        seconds ??= durations.of({ transformation_type, transformer_prefix });
        ok.add();
        seconds.observe(ms / 1000);
      },
      failed: () => operations.add({ ...labels, status: 'unknown-non-grpc' }),
    };
    this.#series.set(name, made);
    return made;
  }
}

interface Series {
  /** `ms`: what it took. */
  done(ms: number): void;
  failed(): void;
}
