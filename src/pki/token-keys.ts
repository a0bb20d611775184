import { createPrivateKey, createPublicKey, hash, type KeyObject, type webcrypto, X509Certificate } from 'node:crypto';
import { PkiFileError } from './key-pair-files.ts';
import { type PemBlock, pemBlocks } from './pem.ts';
import { fitsAlgorithm, rsaBitsMin, type SignatureAlgorithm } from './signature-algorithm.ts';

/** A JSON Web Key with public parts only (RFC 7517); fields in kube-apiserver's order. */
interface PublicJwk {
  readonly use: 'sig';
  readonly kty: 'RSA' | 'EC';
  readonly kid: string;
  readonly crv?: string;
  readonly alg: SignatureAlgorithm;
  readonly x?: string;
  readonly y?: string;
  readonly n?: string;
  readonly e?: string;
}

/** A key that verifies service account tokens (spec section 5.3). */
export interface TokenKey {
  /**
   * `kid`: base64url of the SHA-256 of the key's DER SubjectPublicKeyInfo. kube-apiserver computes it the same way, so
   * relying parties find the key whichever server signed.
   */
  readonly id: string;
  /** The only algorithm that the key verifies. */
  readonly algorithm: SignatureAlgorithm;
  readonly publicKey: KeyObject;
  readonly jwk: PublicJwk;
}

/** The key that signs tokens. */
export interface SigningKey extends TokenKey {
  readonly privateKey: KeyObject;
}

/**
 * Accepted key types. RSA keys that are too short by RFC 7518 section 3.3 are rejected; kube-apiserver accepts them.
 */
const wanted = `RSA of ${rsaBitsMin} bits and more, or ECDSA on P-256, P-384 or P-521`;
const algorithms = ['RS256', 'ES256', 'ES384', 'ES512'] as const satisfies readonly SignatureAlgorithm[];

/** `openssl ecparam -genkey` writes this block before the key; it repeats parameters that the key contains. */
const ecParametersLabel = 'EC PARAMETERS';

/**
 * Parses a PEM file of `--service-account-key-file`: private keys, public keys and certificates, without duplicates, in
 * order. Throws a PkiFileError with file, block and line if any block is not a usable key: skipping it would surface
 * only later, as rejected tokens.
 */
export function readTokenKeys(content: Uint8Array, file: string): readonly TokenKey[] {
  const keys = readBlocks(content, file).map((block) => parse(block, file).key);
  if (keys.length === 0) throw new PkiFileError(file, 'has no PEM block of a key or certificate');
  return distinctKeys(keys);
}

/** Parses the single private key of a file and ignores public keys and certificates. Throws a PkiFileError. */
export function readSigningKey(content: Uint8Array, file: string): SigningKey {
  const found = readBlocks(content, file)
    .filter(({ label }) => label.endsWith('PRIVATE KEY'))
    .map((block) => parse(block, file));
  const [first] = found;
  if (first?.privateKey === undefined) throw new PkiFileError(file, 'has no PEM block of a private key');
  if (found.length > 1) throw new PkiFileError(file, `has ${found.length} private keys: which one signs is not clear`);
  return { ...first.key, privateKey: first.privateKey };
}

/** Removes duplicates; the first occurrence stays. */
export const distinctKeys = (keys: readonly TokenKey[]): readonly TokenKey[] =>
  keys.filter((key, at) => keys.findIndex(({ id }) => id === key.id) === at);

interface NumberedBlock extends PemBlock {
  /** Starting at 1. */
  readonly number: number;
}

function readBlocks(content: Uint8Array, file: string): readonly NumberedBlock[] {
  try {
    return pemBlocks(Buffer.from(content).toString('latin1'))
      .map((block, at) => ({ ...block, number: at + 1 }))
      .filter(({ label }) => label !== ecParametersLabel);
  } catch (error) {
    throw new PkiFileError(file, error instanceof Error ? error.message : String(error));
  }
}

interface ParsedKey {
  readonly key: TokenKey;
  readonly privateKey: KeyObject | undefined;
}

function parse(block: NumberedBlock, file: string): ParsedKey {
  const { label, number, line } = block;
  try {
    const { publicKey, privateKey } = decode(block);
    return { key: tokenKey(publicKey), privateKey };
  } catch (cause) {
    const problem = cause instanceof UnusableKey ? cause.message : 'is damaged';
    throw new PkiFileError(file, `cannot be used: block ${number} (${label}, line ${line}) ${problem}`);
  }
}

/** The message is a predicate whose subject is the PEM block. */
class UnusableKey extends Error {}

function decode({ label, text }: PemBlock): { readonly publicKey: KeyObject; readonly privateKey?: KeyObject } {
  if (/^ENCRYPTED|^Proc-Type:.*ENCRYPTED/m.test(label) || /^Proc-Type:.*ENCRYPTED/m.test(text)) {
    throw new UnusableKey('is encrypted: the server cannot ask for the passphrase');
  }
  switch (label) {
    case 'RSA PRIVATE KEY':
    case 'EC PRIVATE KEY':
    case 'PRIVATE KEY': {
      const privateKey = createPrivateKey(text);
      return { privateKey, publicKey: createPublicKey(privateKey) };
    }
    case 'RSA PUBLIC KEY':
    case 'PUBLIC KEY':
      return { publicKey: createPublicKey(text) };
    case 'CERTIFICATE':
      return { publicKey: new X509Certificate(text).publicKey };
    default:
      throw new UnusableKey('is neither a key nor a certificate');
  }
}

/** Derives id, algorithm and JWK from a public key. Throws UnusableKey. */
function tokenKey(found: KeyObject): TokenKey {
  const algorithm = algorithms.find((each) => fitsAlgorithm(each, found));
  if (algorithm === undefined)
    throw new UnusableKey(`is of no kind that verifies tokens: ${describe(found)}; wanted is ${wanted}`);
  const parts = found.export({ format: 'jwk' });
  // Re-encoded from its numbers: equal keys in different encodings must have the same id.
  const publicKey = createPublicKey({ key: parts, format: 'jwk' });
  const id = hash('sha256', publicKey.export({ type: 'spki', format: 'der' }), 'base64url');
  return { id, algorithm, publicKey, jwk: publicJwk(parts, id, algorithm) };
}

function publicJwk({ kty, crv, x, y, n, e }: webcrypto.JsonWebKey, kid: string, alg: SignatureAlgorithm): PublicJwk {
  if (kty === 'RSA' && n !== undefined && e !== undefined) return { use: 'sig', kty, kid, alg, n, e };
  if (kty === 'EC' && crv !== undefined && x !== undefined && y !== undefined) {
    return { use: 'sig', kty, kid, crv, alg, x, y };
  }
  throw new UnusableKey('has no public parts');
}

function describe({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  const { modulusLength, namedCurve } = asymmetricKeyDetails ?? {};
  if (namedCurve !== undefined) return `ECDSA on ${namedCurve}`;
  return `${asymmetricKeyType ?? 'unknown'}${modulusLength === undefined ? '' : ` of ${modulusLength} bits`}`;
}
