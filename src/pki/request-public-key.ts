import { createPublicKey, type KeyObject } from 'node:crypto';
import { limits } from '../base/limits.ts';
import { type Algorithm, readAlgorithm } from './algorithm-identifier.ts';
import { type DerValue, identifierKey, readAll } from './der.ts';

const rsaEncryption = identifierKey('1.2.840.113549.1.1.1');
const ecPublicKey = identifierKey('1.2.840.10045.2.1');
const ed25519 = identifierKey('1.3.101.112');

/** Algorithms of the keys that `readPublicKey` reads. */
export const keyAlgorithms: ReadonlySet<string> = new Set([rsaEncryption, ecPublicKey, ed25519]);

/** Named curves and the bytes of a coordinate. A curve given by its own parameters is refused (RFC 5480 section 2.1.1). */
const curves: ReadonlyMap<string, number> = new Map(
  (
    [
      ['1.3.132.0.33', 28],
      ['1.2.840.10045.3.1.7', 32],
      ['1.3.132.0.34', 48],
      ['1.3.132.0.35', 66],
    ] as const
  ).map(([id, bytes]) => [identifierKey(id), bytes]),
);

const derNull = '0500';
const uncompressedPoint = 4;
const ed25519Bytes = 32;
const rsaExponentMax = 2n ** 31n - 1n;

/**
 * The public key of a certificate request, from its SubjectPublicKeyInfo. Refuses everything that is not plainly a key of
 * a supported type before OpenSSL sees it. Throws an Error, in Go's words.
 */
export function readPublicKey({ whole, content }: DerValue): KeyObject {
  const [algorithm, bits, ...others] = readAll(content);
  if (!algorithm || bits?.tag !== 0x03 || bits.content[0] !== 0 || others.length > 0) throw invalidKey();
  requireKey(readAlgorithm(algorithm), bits.content.subarray(1));
  try {
    return createPublicKey({ key: whole, type: 'spki', format: 'der' });
  } catch (cause) {
    throw invalidKey(cause);
  }
}

const invalidKey = (cause?: unknown): Error => new Error('x509: invalid public key', { cause });

function requireKey({ id, parameters }: Algorithm, content: Buffer): void {
  switch (id) {
    case rsaEncryption:
      if (parameters !== derNull) throw new Error('x509: RSA key missing NULL parameters');
      requireRsaNumbers(content);
      break;
    case ecPublicKey:
      requirePoint(parameters, content);
      break;
    case ed25519:
      if (parameters !== '') throw new Error('x509: Ed25519 key encoded with illegal parameters');
      if (content.length !== ed25519Bytes) throw new Error('x509: wrong Ed25519 public key size');
      break;
    default:
      throw new Error('x509: cannot verify signature: algorithm unimplemented');
  }
}

function requireRsaNumbers(content: Buffer): void {
  const [sequence, ...after] = readAll(content);
  const numbers = sequence?.tag === 0x30 && after.length === 0 ? readAll(sequence.content) : [];
  if (numbers.length !== 2 || numbers.some(({ tag }) => tag !== 0x02)) throw new Error('x509: invalid RSA public key');
  const [modulus, exponent] = numbers.map(({ content: digits }) => digits);
  if (!modulus || !exponent) throw new Error('x509: invalid RSA public key');
  if (!isPositive(modulus)) throw new Error('x509: RSA modulus is not a positive number');
  if (!isPositive(exponent)) throw new Error('x509: RSA public exponent is not a positive number');
  if (bitsOf(modulus) > limits.certificateRequestRsaBitsMax) {
    throw new Error(`x509: RSA modulus has more than ${limits.certificateRequestRsaBitsMax} bits`);
  }
  if (exponent.length > 5 || BigInt(`0x${exponent.toString('hex')}`) > rsaExponentMax) {
    throw new Error('crypto/rsa: public exponent too large');
  }
  if (exponent.equals(Buffer.from([1]))) throw new Error('crypto/rsa: public exponent too small');
}

/** Of a positive number in its shortest form, whose first byte may be the zero of the sign. */
const bitsOf = (digits: Buffer): number => digits.length * 8 + 24 - Math.clz32(digits[0] ?? 0);

const isPositive = (digits: Buffer): boolean => (digits[0] ?? 0x80) < 0x80 && digits.some((byte) => byte !== 0);

function requirePoint(parameters: string, point: Buffer): void {
  const coordinateBytes = curves.get(parameters);
  if (coordinateBytes === undefined) throw new Error('x509: unsupported elliptic curve');
  if (point[0] !== uncompressedPoint || point.length !== 1 + 2 * coordinateBytes) {
    throw new Error('x509: failed to unmarshal elliptic curve point');
  }
}
