import type { KeyObject } from 'node:crypto';
import { isSignature, isSignatureAlgorithm, type SignatureAlgorithm } from '../pki/signature-algorithm.ts';
import type { Jwt, JwtFields } from './jwt.ts';

/** A public key with the one algorithm that it verifies. */
interface JwtKey {
  readonly algorithm: SignatureAlgorithm;
  readonly publicKey: KeyObject;
}

/**
 * Why no signature under this header is looked at, or undefined. The fields by which a token names or brings a key of its
 * own (`jwk`, `jku`, `x5u`, `x5c`) are not read at all.
 */
export function headerProblem(header: JwtFields): string | undefined {
  if (!isSignatureAlgorithm(header['alg'])) return 'the algorithm of its signature is not one that is accepted';
  // RFC 7515 section 4.1.11: what is critical must be understood; nothing of the kind is.
  if (Object.hasOwn(header, 'crit')) return 'its header has critical fields that are not understood';
  // RFC 7797: what is signed would be something else than what was read.
  if (Object.hasOwn(header, 'b64') && header['b64'] !== true) return 'its claims are not encoded';
  if (Object.hasOwn(header, 'kid') && typeof header['kid'] !== 'string') return 'its key id is not a string';
  return undefined;
}

/** The key that the token says it was signed with, where it says so (RFC 7515 section 4.1.4). It only helps to find one. */
export function keyIdOf({ header }: Jwt): string | undefined {
  const kid = header['kid'];
  return typeof kid === 'string' && kid !== '' ? kid : undefined;
}

/**
 * Whether the token was signed with this key. The key decides on the algorithm: a token that names another one was not
 * (RFC 8725 section 3.1). Of the claims nothing is checked.
 */
export function isSignedWith(jwt: Jwt, key: JwtKey): boolean {
  if (headerProblem(jwt.header) !== undefined || jwt.header['alg'] !== key.algorithm) return false;
  return isSignature(key.algorithm, key.publicKey, Buffer.from(jwt.signingInput, 'latin1'), jwt.signature);
}
