import * as der from './der.ts';

/** An extension of a certificate (RFC 5280 section 4.2). */
interface Extension {
  /** A certificate with an unrecognised critical extension must be rejected. */
  readonly critical: boolean;
  /** Content of the octet string. */
  readonly value: Buffer;
}

/** Extensions by `der.identifierKey`. */
export type Extensions = ReadonlyMap<string, Extension>;

const tags = { boolean: 0x01, integer: 0x02, octetString: 0x04, sequence: 0x30, extensions: 0xa3 } as const;

/**
 * The extensions of a certificate; undefined for versions 1 and 2. Throws if they are not valid DER, or if one stands
 * there twice (RFC 5280 section 4.2), since readers differ in which one counts.
 */
export function readExtensions(certificate: { readonly raw: Buffer }): Extensions | undefined {
  const [outer] = der.readAll(certificate.raw);
  const [body] = outer ? der.readAll(outer.content) : [];
  const fields = body ? der.readAll(body.content) : [];
  const list = fields.find((field) => field.tag === tags.extensions);
  const [sequence] = list ? der.readAll(list.content) : [];
  if (!sequence) return undefined;
  const all = der.readAll(sequence.content).map(readExtension);
  const extensions = new Map(all);
  if (extensions.size < all.length) throw new RangeError('certificate with an extension twice');
  return extensions;
}

function readExtension({ content }: der.DerValue): readonly [id: string, extension: Extension] {
  const parts = der.readAll(content);
  const value = parts.find(({ tag }) => tag === tags.octetString);
  if (!parts[0] || !value) throw new RangeError('certificate with a malformed extension');
  const critical = parts.some(({ tag, content: [flag] }) => tag === tags.boolean && flag !== 0);
  return [parts[0].whole.toString('hex'), { critical, value: value.content }];
}

/** Basic constraints (RFC 5280 section 4.2.1.9). */
interface BasicConstraints {
  readonly isAuthority: boolean;
  /** Maximum number of intermediate authorities below this one; undefined for no limit. */
  readonly pathLengthMax: number | undefined;
}

const basicConstraintsId = der.identifierKey('2.5.29.19');

export function basicConstraints(extensions: Extensions): BasicConstraints {
  const extension = extensions.get(basicConstraintsId);
  const [sequence] = extension ? der.readAll(extension.value) : [];
  const parts = sequence ? der.readAll(sequence.content) : [];
  const length = parts.find(({ tag }) => tag === tags.integer);
  return {
    isAuthority: parts.some(({ tag, content: [flag] }) => tag === tags.boolean && flag !== 0),
    pathLengthMax: length && readLength(length.content),
  };
}

/** Whether the extension, if there is one, is of the form of RFC 5280: nothing missing, nothing more. */
export function hasValidBasicConstraints(extensions: Extensions): boolean {
  const extension = extensions.get(basicConstraintsId);
  if (!extension) return true;
  const [sequence, ...others] = der.readAll(extension.value);
  if (sequence?.tag !== tags.sequence || others.length > 0) return false;
  const parts = der.readAll(sequence.content);
  const [flag] = parts[0]?.tag === tags.boolean ? parts.splice(0, 1) : [];
  const [length] = parts[0]?.tag === tags.integer ? parts.splice(0, 1) : [];
  return parts.length === 0 && (!flag || isBoolean(flag.content)) && (!length || isNatural(length.content));
}

const isBoolean = ({ length, 0: byte }: Buffer): boolean => length === 1 && (byte === 0 || byte === 0xff);
const isNatural = ({ length, 0: byte = 0 }: Buffer): boolean => length > 0 && byte < 0x80;

/** Out-of-range lengths are read as 0: what cannot be interpreted allows nothing. */
const readLength = (content: Buffer): number => (content.length === 1 ? Math.max(0, content.readInt8(0)) : 0);
