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

/** A key of a provider that tokens may be signed with. */
interface ProviderKey {
  readonly id: string | undefined;
  readonly publicKey: KeyObject;
  /** Those that it fits, or the one that the provider names for it. Never empty. */
  readonly algorithms: readonly SignatureAlgorithm[];
}

/** The keys of a provider as they were at one time. Immutable. */
export class KeySet {
  readonly #keys: readonly ProviderKey[];
  /** The same for two sets that verify the same tokens. */
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
   * Whether the token was signed with one of the keys: the one that it names, or any where it names none. Several may go
   * by one name.
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
 * Reads a JSON Web Key Set (RFC 7517 section 5). Keys that are of no use here are passed over, as that section wants:
 * those for encryption, of other kinds or curves, broken, or RSA keys that are too short. Of private keys only the public
 * part is read. Throws where it is no such set, or has more than `limits.oidcKeysMax` keys.
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

/** RFC 7517 sections 4.2 and 4.3: whoever says nothing allows everything. */
function isForSignatures(jwk: Readonly<Record<string, unknown>>): boolean {
  const [use, operations] = [getOwn(jwk, 'use'), getOwn(jwk, 'key_ops')];
  if (use !== undefined && use !== 'sig') return false;
  return operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
}

/** Undefined where a member is missing, or they make no key: a point that is not on its curve, for one. */
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
    // As good as no key.
    return undefined;
  }
}

/** Members of a JWK that make its public key (RFC 7518 sections 6.2.1 and 6.3.1). */
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
