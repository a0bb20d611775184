import { createPublicKey, type KeyObject } from 'node:crypto';
import { limits } from '../../base/limits.ts';
import { parseJson } from '../../codec/json.ts';
import {
  fitsAlgorithm,
  isSignatureAlgorithm,
  type SignatureAlgorithm,
  signatureAlgorithms,
} from '../../pki/signature-algorithm.ts';
import { getOwn, isRecord } from '../../schema/own-property.ts';
import type { Jwt } from '../jwt.ts';
import { isSignedWith, keyIdOf } from '../jwt-signature.ts';

/** A signing key of a provider. */
interface ProviderKey {
  readonly id: string | undefined;
  readonly publicKey: KeyObject;
  /** The algorithms that fit the key, or the one that the JWK names. Never empty. */
  readonly algorithms: readonly SignatureAlgorithm[];
}

/** Immutable snapshot of a provider's keys. */
export class KeySet {
  readonly #keys: readonly ProviderKey[];
  /** Equal for two sets that verify the same tokens. */
  readonly fingerprint: string;

  constructor(keys: readonly ProviderKey[]) {
    this.#keys = keys;
    this.fingerprint = JSON.stringify(
      keys.map(({ id, publicKey, algorithms }) => [id, publicKey.export({ format: 'jwk' }), algorithms]),
    );
  }

  get size(): number {
    return this.#keys.length;
  }

  /**
   * Whether one of the keys signed the token: one with the token's key id, or any if it has none. Several keys may have
   * the same id.
   */
  hasSigned(jwt: Jwt): boolean {
    const algorithm = jwt.header['alg'];
    if (!isSignatureAlgorithm(algorithm)) return false;
    const id = keyIdOf(jwt);
    return this.#keys.some(
      ({ id: own, publicKey, algorithms }) =>
        (id === undefined || id === own) &&
        algorithms.includes(algorithm) &&
        isSignedWith(jwt, { algorithm, publicKey }),
    );
  }
}

/**
 * Parses a JSON Web Key Set (RFC 7517 section 5). As that section requires, unusable keys are skipped: encryption keys,
 * unsupported types or curves, malformed keys, and RSA keys that are too short. Of private keys only the public part is
 * read. Throws if it is not a JWK Set or has more than `limits.oidcKeysMax` keys.
 */
export function readKeySet(bytes: Uint8Array): KeySet {
  const { value } = parseJson(bytes);
  const keys = isRecord(value) ? getOwn(value, 'keys') : undefined;
  if (!Array.isArray(keys)) throw new Error('the keys of the provider are not a JSON Web Key Set');
  if (keys.length > limits.oidcKeysMax) throw new Error(`the provider has more than ${limits.oidcKeysMax} keys`);
  return new KeySet(keys.flatMap((key: unknown) => (isRecord(key) ? readKey(key) : [])));
}

function readKey(jwk: Readonly<Record<string, unknown>>): ProviderKey[] {
  if (!isForSignatures(jwk)) return [];
  const publicKey = importKey(jwk);
  if (!publicKey) return [];
  const named = getOwn(jwk, 'alg');
  const algorithms = signatureAlgorithms.filter(
    (algorithm) => (named === undefined || named === algorithm) && fitsAlgorithm(algorithm, publicKey),
  );
  const id = getOwn(jwk, 'kid');
  return algorithms.length === 0 ? [] : [{ id: typeof id === 'string' ? id : undefined, publicKey, algorithms }];
}

/** RFC 7517 sections 4.2 and 4.3: an absent member sets no restriction. */
function isForSignatures(jwk: Readonly<Record<string, unknown>>): boolean {
  const [use, operations] = [getOwn(jwk, 'use'), getOwn(jwk, 'key_ops')];
  if (use !== undefined && use !== 'sig') return false;
  return operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
}

/** Undefined if a member is missing or the members do not form a valid key, e.g. a point that is not on its curve. */
function importKey(jwk: Readonly<Record<string, unknown>>): KeyObject | undefined {
  const members = publicMembers(getOwn(jwk, 'kty'));
  const values = members.map((name) => getOwn(jwk, name));
  if (members.length === 0 || !values.every((value) => typeof value === 'string')) return undefined;
  try {
    return createPublicKey({
      format: 'jwk',
      key: Object.fromEntries(members.map((name, index) => [name, values[index] ?? ''])),
    });
  } catch {
    // Invalid keys are skipped.
    return undefined;
  }
}

/** JWK members of the public key (RFC 7518 sections 6.2.1 and 6.3.1). */
function publicMembers(kty: unknown): readonly string[] {
  switch (kty) {
    case 'RSA':
      return ['kty', 'n', 'e'];
    case 'EC':
      return ['kty', 'crv', 'x', 'y'];
    default:
      return [];
  }
}
