import type { ReadValue } from '../value-transformer.ts';
import type { Cipher } from './cipher.ts';
import { Undecryptable } from './cipher.ts';

/** One way to store values, recognized by what they begin with. */
export interface Provider {
  /** What its values begin with; empty for those that are stored as they are. */
  readonly prefix: string;
  /** The value without the prefix. Throws if it cannot be encrypted now. */
  seal(bytes: Uint8Array, at: string): Uint8Array;
  /** Reads a value without its prefix. Throws or rejects if it cannot be decrypted. */
  open(sealed: Uint8Array, at: string): ReadValue | Promise<ReadValue>;
  /** The form in which it writes may change while it is in use. */
  readonly changes?: boolean;
}

/** Called with the outcome of each attempt of a provider. */
type OnOpened = (provider: Provider | undefined, error: unknown) => void;

/**
 * Providers of one resource. The first one writes. A value is read by those whose prefix it has, in order, until one
 * succeeds: two providers may share a prefix, while keys move from one to the other. What is not read by the first one
 * is stale.
 */
export class ProviderChain {
  readonly #providers: readonly { readonly provider: Provider; readonly prefix: Buffer }[];
  readonly first: Provider;
  readonly #noMatch: string;

  constructor([first, ...others]: readonly [Provider, ...Provider[]], noMatch: string) {
    this.first = first;
    this.#providers = [first, ...others].map((provider) => ({ provider, prefix: Buffer.from(provider.prefix) }));
    this.#noMatch = noMatch;
  }

  get changes(): boolean {
    return this.#providers.some(({ provider }) => provider.changes === true);
  }

  seal(bytes: Uint8Array, at: string): Uint8Array {
    const sealed = this.first.seal(bytes, at);
    const prefix = this.#providers[0]?.prefix;
    return prefix === undefined || prefix.length === 0 ? sealed : Buffer.concat([prefix, sealed]);
  }

  open(stored: Uint8Array, at: string, opened?: OnOpened): ReadValue | Promise<ReadValue> {
    return this.#openFrom(0, { stored, at, opened, failures: [] });
  }

  #openFrom(from: number, reading: Reading): ReadValue | Promise<ReadValue> {
    const { stored, at, opened, failures } = reading;
    for (let index = from; index < this.#providers.length; index++) {
      const entry = this.#providers[index];
      if (!entry || !startsWith(stored, entry.prefix)) continue;
      const { provider, prefix } = entry;
      const read = (value: ReadValue): ReadValue => {
        opened?.(provider, undefined);
        return index === 0 || value.stale ? value : { bytes: value.bytes, stale: true };
      };
      const failed = (error: unknown): void => {
        // Not a failure of those that store values as they are: what they do not read belongs to another.
        if (prefix.length === 0) return;
        opened?.(provider, error);
        failures.push(error);
      };
      try {
        const value = provider.open(stored.subarray(prefix.length), at);
        if (!(value instanceof Promise)) return read(value);
        return value.then(read, (error) => {
          failed(error);
          return this.#openFrom(index + 1, reading);
        });
      } catch (error) {
        failed(error);
      }
    }
    if (failures.length === 0) {
      const error = new Undecryptable(this.#noMatch);
      opened?.(undefined, error);
      throw error;
    }
    throw failures.length === 1 ? failures[0] : allOf(failures);
  }
}

interface Reading {
  readonly stored: Uint8Array;
  readonly at: string;
  readonly opened: OnOpened | undefined;
  readonly failures: unknown[];
}

const allOf = (failures: readonly unknown[]): Undecryptable =>
  new Undecryptable(failures.map((error) => (error instanceof Error ? error.message : String(error))).join('; '));

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false;
  for (let index = 0; index < prefix.length; index++) if (bytes[index] !== prefix[index]) return false;
  return true;
}

/** Values as they are; refuses those that are encrypted, so that another provider reads them. */
export function identityProvider(encryptedPrefix: string): Provider {
  const encrypted = Buffer.from(encryptedPrefix);
  return {
    prefix: '',
    seal: (bytes) => bytes,
    open(stored) {
      if (startsWith(stored, encrypted)) throw new Undecryptable('identity transformer tried to read encrypted data');
      return { bytes: stored, stale: false };
    },
  };
}

/** Several keys for one algorithm, which stored values name: `<prefix><key>:`. The first one encrypts. */
export function keyedProvider(
  prefix: string,
  keys: readonly { readonly name: string; readonly cipher: Cipher }[],
): Provider {
  const [first, ...others] = keys.map(
    ({ name, cipher }): Provider => ({
      prefix: `${name}:`,
      seal: (bytes, at) => cipher.seal(bytes, at),
      open: (sealed, at) => ({ bytes: cipher.open(sealed, at), stale: false }),
    }),
  );
  if (!first) throw new RangeError('a provider has at least one key');
  const chain = new ProviderChain([first, ...others], 'no matching key was found for the stored value');
  return { prefix, seal: (bytes, at) => chain.seal(bytes, at), open: (sealed, at) => chain.open(sealed, at) };
}
