import { type KeyObject, sign } from 'node:crypto';
import * as der from './der.ts';

/** How certificates are signed with a key: its algorithm identifier (RFC 5280 section 4.1.1.2) and hash. */
interface CertificateSignature {
  /** DER. */
  readonly algorithm: Buffer;
  /** Name of the hash; null for algorithms that have their own. */
  readonly hash: string | null;
}

const noParameters = Buffer.from([5, 0]);
const identifier = (oid: string, ...parameters: readonly Buffer[]): Buffer =>
  der.sequence(der.objectIdentifier(oid), ...parameters);

/** ECDSA with the hash that is as strong as the curve (RFC 5758 section 3.2), by the runtime's name of the curve. */
const curves: Readonly<Record<string, CertificateSignature>> = {
  prime256v1: { algorithm: identifier('1.2.840.10045.4.3.2'), hash: 'sha256' },
  secp384r1: { algorithm: identifier('1.2.840.10045.4.3.3'), hash: 'sha384' },
  secp521r1: { algorithm: identifier('1.2.840.10045.4.3.4'), hash: 'sha512' },
};
const rsa: CertificateSignature = { algorithm: identifier('1.2.840.113549.1.1.11', noParameters), hash: 'sha256' };
const ed25519: CertificateSignature = { algorithm: identifier('1.3.101.112'), hash: null };

/** How certificates are signed with this private key. Throws a TypeError for other keys than RSA, ECDSA and Ed25519. */
export function signatureWith(key: KeyObject): CertificateSignature {
  const { asymmetricKeyType: type, asymmetricKeyDetails: { namedCurve = '' } = {} } = key;
  const found = type === 'ec' ? curves[namedCurve] : type === 'rsa' ? rsa : type === 'ed25519' ? ed25519 : undefined;
  if (!found) throw new TypeError(`cannot sign certificates with a key of type ${[type, namedCurve].join(' ').trim()}`);
  return found;
}

/** A certificate from its body, which names the algorithm of `signatureWith(key)`. DER. */
export const signedNow = (body: Buffer, key: KeyObject): Buffer =>
  whole(body, key, sign(signatureWith(key).hash, body, key));

/** As `signedNow`, on another thread: RSA takes milliseconds. */
export function signedLater(body: Buffer, key: KeyObject): Promise<Buffer> {
  const { hash } = signatureWith(key);
  return new Promise((resolve, reject) => {
    sign(hash, body, key, (error, signature) => (error ? reject(error) : resolve(whole(body, key, signature))));
  });
}

const whole = (body: Buffer, key: KeyObject, signature: Buffer): Buffer =>
  der.sequence(body, signatureWith(key).algorithm, der.bitString(signature));
