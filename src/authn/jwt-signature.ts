import type { KeyObject } from 'node:crypto';
import { isSignature, isSignatureAlgorithm, type SignatureAlgorithm } from '../pki/signature-algorithm.ts';
import type { Jwt, JwtFields } from './jwt.ts';

/** A public key and the only algorithm that it verifies. */
interface JwtKey {
  readonly algorithm: SignatureAlgorithm;
  readonly publicKey: KeyObject;
}

/**
 * Why the header is unacceptable, or undefined. Fields by which a token names or brings its own key (`jwk`, `jku`,
 * `x5u`, `x5c`) are ignored.
 */
export function headerProblem(header: JwtFields): string | undefined {
  if (!isSignatureAlgorithm(header['alg'])) return 'the algorithm of its signature is not one that is accepted';
  // RFC 7515 section 4.1.11: critical fields must be understood, and none is supported.
  if (Object.hasOwn(header, 'crit')) return 'its header has critical fields that are not understood';
  // RFC 7797: the signed bytes would differ from the decoded ones.
  if (Object.hasOwn(header, 'b64') && header['b64'] !== true) return 'its claims are not encoded';
  if (Object.hasOwn(header, 'kid') && typeof header['kid'] !== 'string') return 'its key id is not a string';
  return undefined;
}

/** The key id of the token, if any (RFC 7515 section 4.1.4). Only a hint for finding the key. */
export function keyIdOf({ header }: Jwt): string | undefined {
  const kid = header['kid'];
  return typeof kid === 'string' && kid !== '' ? kid : undefined;
}

/**
 * Whether the token was signed with this key. The key determines the algorithm: a token that names another one does not
 * match (RFC 8725 section 3.1). Does not check claims.
 */
export function isSignedWith(jwt: Jwt, key: JwtKey): boolean {
  if (headerProblem(jwt.header) !== undefined || jwt.header['alg'] !== key.algorithm) return false;
  return isSignature(key.algorithm, key.publicKey, Buffer.from(jwt.signingInput, 'latin1'), jwt.signature);
}
