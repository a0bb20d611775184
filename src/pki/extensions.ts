import type { X509Certificate } from 'node:crypto';
import * as der from './der.ts';

/** An extension of a certificate (RFC 5280 section 4.2). */
interface Extension {
  /** Who does not know a critical extension must not use the certificate. */
  readonly critical: boolean;
  /** What stands in its octet string. */
  readonly value: Buffer;
}

/** Extensions by what `extensionId` gives for their identifier. */
export type Extensions = ReadonlyMap<string, Extension>;

const tags = { boolean: 0x01, integer: 0x02, octetString: 0x04, extensions: 0xa3 } as const;

/** The key of an extension in `Extensions`: its object identifier, encoded. */
export const extensionId = (dotted: string): string => der.objectIdentifier(dotted).toString('hex');

/** What a certificate says beside subject and key; undefined in those of versions 1 and 2. Throws where it is no DER. */
export function readExtensions(certificate: X509Certificate): Extensions | undefined {
  const [outer] = der.readAll(certificate.raw);
  const [body] = outer ? der.readAll(outer.content) : [];
  const fields = body ? der.readAll(body.content) : [];
  const list = fields.find((field) => field.tag === tags.extensions);
  const [sequence] = list ? der.readAll(list.content) : [];
  return sequence && new Map(der.readAll(sequence.content).map(readExtension));
}

function readExtension({ content }: der.DerValue): readonly [id: string, extension: Extension] {
  const parts = der.readAll(content);
  const value = parts.find(({ tag }) => tag === tags.octetString);
  if (!parts[0] || !value) throw new RangeError('certificate with an extension that is none');
  const critical = parts.some(({ tag, content: [flag] }) => tag === tags.boolean && flag !== 0);
  return [parts[0].whole.toString('hex'), { critical, value: value.content }];
}

/** What basic constraints (RFC 5280 section 4.2.1.9) allow. */
interface BasicConstraints {
  readonly isAuthority: boolean;
  /** How many authorities may stand between this one and the leaf; undefined for any number. */
  readonly pathLengthMax: number | undefined;
}

const basicConstraintsId = extensionId('2.5.29.19');

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

/** Lengths that nobody means are read as none left: what cannot be understood allows nothing. */
const readLength = (content: Buffer): number => (content.length === 1 ? Math.max(0, content.readInt8(0)) : 0);
