import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { bitString, explicit, objectIdentifier, sequence, setOf, unsignedInteger, utf8String } from './der.ts';

/** Test support: certificate requests of any shape, including ones that no tool makes. */
interface RequestRecipe {
  /** Relative distinguished names as DER. */
  readonly subject?: readonly Buffer[];
  /** Attributes as DER. */
  readonly attributes?: readonly Buffer[];
  /** Ed25519. Default: the same key for all. */
  readonly privateKey?: KeyObject;
  /** SubjectPublicKeyInfo in the place of the key's own. */
  readonly publicKey?: Buffer;
  readonly algorithm?: Buffer;
  /** Signs the content. Default: by `privateKey`. */
  readonly sign?: (content: Buffer) => Buffer;
}

const ed25519 = generateKeyPairSync('ed25519').privateKey;

export const ids = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  ed25519: '1.3.101.112',
  extensionRequest: '1.2.840.113549.1.9.14',
  alternativeName: '2.5.29.17',
} as const;

export function makeRequest(recipe: RequestRecipe = {}): Buffer {
  const { subject = [relativeName(ids.commonName, 'someone')], attributes = [], privateKey = ed25519 } = recipe;
  const publicKey = recipe.publicKey ?? createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const info = sequence(unsignedInteger(Buffer.from([0])), sequence(...subject), publicKey, explicit(0, ...attributes));
  const algorithm = recipe.algorithm ?? sequence(objectIdentifier(ids.ed25519));
  const makeSignature = recipe.sign ?? ((content) => sign(null, content, privateKey));
  return sequence(info, algorithm, bitString(makeSignature(info)));
}

/** A part of a name; a Buffer is DER. */
export const attribute = (id: string, text: string | Buffer): Buffer =>
  sequence(objectIdentifier(id), typeof text === 'string' ? utf8String(text) : text);

export const relativeName = (id: string, text: string | Buffer): Buffer => setOf(attribute(id, text));

/** Any primitive value. */
export const primitive = (tag: number, content: ArrayLike<number>): Buffer =>
  Buffer.from([tag, content.length, ...Array.from(content)]);

export const requestToPem = (der: Buffer, label = 'CERTIFICATE REQUEST'): string =>
  `-----BEGIN ${label}-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`;
