import { createPrivateKey, createPublicKey, hash, type KeyObject, type webcrypto, X509Certificate } from 'node:crypto';
import { PkiFileError } from './key-pair-files.ts';
import { type PemBlock, pemBlocks } from './pem-blocks.ts';
import { fitsAlgorithm, rsaBitsMin, type SignatureAlgorithm } from './signature-algorithm.ts';

/** A JSON Web Key with public parts only (RFC 7517), its fields in the order in which published servers write them. */
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

/** A key that tokens of service accounts are verified with (spec section 5.3). */
export interface TokenKey {
  /**
   * `kid`: the SHA-256 of the DER of its SubjectPublicKeyInfo, in base64url, as published servers compute it: relying
   * parties find the key by it, whichever server signed.
   */
  readonly id: string;
  /** The only one that it verifies. */
  readonly algorithm: SignatureAlgorithm;
  readonly publicKey: KeyObject;
  readonly jwk: PublicJwk;
}

/** The key that tokens are signed with. */
export interface SigningKey extends TokenKey {
  readonly privateKey: KeyObject;
}

/** Of which kinds keys may be. RSA keys that RFC 7518 section 3.3 calls too short are refused; published servers take them. */
const wanted = `RSA of ${rsaBitsMin} bits and more, or ECDSA on P-256, P-384 or P-521`;
const algorithms = ['RS256', 'ES256', 'ES384', 'ES512'] as const satisfies readonly SignatureAlgorithm[];

/** `openssl ecparam -genkey` writes one before the key, which says the same again. */
const meaningless = 'EC PARAMETERS';

/**
 * The keys of a PEM file of `--service-account-key-file`: private and public keys and certificates, each once, in the
 * file's order. Throws a PkiFileError that names file, block and line where there is anything that is not a usable key:
 * a key that is passed over would refuse tokens, much later, to somebody else.
 */
export function readTokenKeys(content: Uint8Array, file: string): readonly TokenKey[] {
  const keys = readBlocks(content, file).map((block) => parse(block, file).key);
  if (keys.length === 0) throw new PkiFileError(file, 'has no PEM block of a key or certificate');
  return distinctKeys(keys);
}

/** The one private key of a file; whatever public goes with it there is not looked at. Throws a PkiFileError. */
export function readSigningKey(content: Uint8Array, file: string): SigningKey {
  const found = readBlocks(content, file)
    .filter(({ label }) => label.endsWith('PRIVATE KEY'))
    .map((block) => parse(block, file));
  const [first] = found;
  if (first?.privateKey === undefined) throw new PkiFileError(file, 'has no PEM block of a private key');
  if (found.length > 1) throw new PkiFileError(file, `has ${found.length} private keys: which one signs is not clear`);
  return { ...first.key, privateKey: first.privateKey };
}

/** Each key once, where it first stands. */
export const distinctKeys = (keys: readonly TokenKey[]): readonly TokenKey[] =>
  keys.filter((key, at) => keys.findIndex(({ id }) => id === key.id) === at);

interface NumberedBlock extends PemBlock {
  /** From 1. */
  readonly number: number;
}

function readBlocks(content: Uint8Array, file: string): readonly NumberedBlock[] {
  try {
    return pemBlocks(Buffer.from(content).toString('latin1'))
      .map((block, at) => ({ ...block, number: at + 1 }))
      .filter(({ label }) => label !== meaningless);
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

/** Says what is wrong as the end of a sentence that begins with the block. */
class UnusableKey extends Error {}

function decode({ label, text }: PemBlock): { readonly publicKey: KeyObject; readonly privateKey?: KeyObject } {
  if (/^ENCRYPTED|^Proc-Type:.*ENCRYPTED/m.test(label) || /^Proc-Type:.*ENCRYPTED/m.test(text)) {
    throw new UnusableKey('is encrypted: a server has nobody to ask for the passphrase');
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

/** A public key with what follows from it. Throws an Error whose message ends a sentence on the key. */
function tokenKey(found: KeyObject): TokenKey {
  const algorithm = algorithms.find((each) => fitsAlgorithm(each, found));
  if (algorithm === undefined)
    throw new UnusableKey(`is of no kind that verifies tokens: ${describe(found)}; wanted is ${wanted}`);
  const parts = found.export({ format: 'jwk' });
  // Once more from its numbers: the same key may be written in several ways, and has one id.
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
