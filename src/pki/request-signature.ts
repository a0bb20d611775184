import { constants, type KeyObject, type VerifyKeyObjectInput, verify } from 'node:crypto';
import type { Algorithm } from './algorithm-identifier.ts';
import { explicit, identifierKey, objectIdentifier, sequence, unsignedInteger } from './der.ts';

interface Scheme {
  /** `asymmetricKeyType` of the key that it needs. */
  readonly key: 'rsa' | 'ec' | 'ed25519';
  readonly hash: 'sha1' | 'sha256' | 'sha384' | 'sha512' | null;
  readonly pss?: true;
}

/**
 * Signature algorithms of requests, by object identifier. SHA-1 is accepted as by Go's CheckSignature of requests: the
 * signature only proves possession of the key, over content that its holder chose.
 */
const schemes: ReadonlyMap<string, Scheme> = new Map(
  (
    [
      ['1.2.840.113549.1.1.5', { key: 'rsa', hash: 'sha1' }],
      ['1.3.14.3.2.29', { key: 'rsa', hash: 'sha1' }],
      ['1.2.840.113549.1.1.11', { key: 'rsa', hash: 'sha256' }],
      ['1.2.840.113549.1.1.12', { key: 'rsa', hash: 'sha384' }],
      ['1.2.840.113549.1.1.13', { key: 'rsa', hash: 'sha512' }],
      ['1.2.840.10045.4.1', { key: 'ec', hash: 'sha1' }],
      ['1.2.840.10045.4.3.2', { key: 'ec', hash: 'sha256' }],
      ['1.2.840.10045.4.3.3', { key: 'ec', hash: 'sha384' }],
      ['1.2.840.10045.4.3.4', { key: 'ec', hash: 'sha512' }],
      ['1.3.101.112', { key: 'ed25519', hash: null }],
    ] satisfies readonly [string, Scheme][]
  ).map(([id, scheme]) => [identifierKey(id), scheme]),
);

const insecure: ReadonlyMap<string, string> = new Map([
  [identifierKey('1.2.840.113549.1.1.2'), 'MD2-RSA'],
  [identifierKey('1.2.840.113549.1.1.4'), 'MD5-RSA'],
]);

const pssId = identifierKey('1.2.840.113549.1.1.10');
const mgf1Id = '1.2.840.113549.1.1.8';

const pssHashes = [
  { hash: 'sha256', id: '2.16.840.1.101.3.4.2.1', bytes: 32 },
  { hash: 'sha384', id: '2.16.840.1.101.3.4.2.2', bytes: 48 },
  { hash: 'sha512', id: '2.16.840.1.101.3.4.2.3', bytes: 64 },
] as const;

/**
 * RSASSA-PSS by its encoded parameters (RFC 4055 section 3.1). As in Go, both hashes are the same and the salt is as long
 * as the hash; the parameters of a hash are NULL or absent.
 */
const pssSchemes: ReadonlyMap<string, Scheme> = new Map(
  pssHashes.flatMap(({ hash, id, bytes }) => {
    const forms = [sequence(objectIdentifier(id)), sequence(objectIdentifier(id), Buffer.from([5, 0]))];
    return forms.flatMap((outer) =>
      forms.map((inner): [string, Scheme] => {
        const mask = sequence(objectIdentifier(mgf1Id), inner);
        const salt = unsignedInteger(Buffer.from([bytes]));
        const parameters = sequence(explicit(0, outer), explicit(1, mask), explicit(2, salt));
        return [parameters.toString('hex'), { key: 'rsa', hash, pss: true }];
      }),
    );
  }),
);

interface SignedContent {
  readonly algorithm: Algorithm;
  readonly signature: Buffer;
  readonly content: Buffer;
}

/**
 * Why `signature` does not prove possession of the private key; undefined if it does. The words are Go's. Synchronous: a
 * verification takes a millisecond at most, given the limits on keys.
 */
export function signatureProblem(key: KeyObject, { algorithm, signature, content }: SignedContent): string | undefined {
  const weak = insecure.get(algorithm.id);
  if (weak !== undefined) return `x509: cannot verify signature: insecure algorithm ${weak}`;
  const scheme = schemeOf(algorithm);
  if (!scheme) return 'x509: cannot verify signature: algorithm unimplemented';
  if (scheme.key !== key.asymmetricKeyType) {
    return `x509: signature algorithm specifies an ${names[scheme.key]} public key, but the request has another one`;
  }
  return isSignature(scheme, key, content, signature) ? undefined : failures[scheme.key];
}

const names = { rsa: 'RSA', ec: 'ECDSA', ed25519: 'Ed25519' } as const;

const failures = {
  rsa: 'crypto/rsa: verification error',
  ec: 'x509: ECDSA verification failure',
  ed25519: 'x509: Ed25519 verification failure',
} as const;

function schemeOf({ id, parameters }: Algorithm): Scheme | undefined {
  if (id === pssId) return pssSchemes.get(parameters);
  const scheme = schemes.get(id);
  return scheme?.key === 'ed25519' && parameters !== '' ? undefined : scheme;
}

function isSignature({ hash, pss }: Scheme, key: KeyObject, content: Buffer, signature: Buffer): boolean {
  const input: VerifyKeyObjectInput = pss
    ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    : { key };
  try {
    return verify(hash, content, input, signature);
  } catch {
    // OpenSSL throws for keys that it does not compute with, such as an RSA modulus shorter than the hash.
    return false;
  }
}
