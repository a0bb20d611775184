import { X509Certificate } from 'node:crypto';
import { limits } from '../base/limits.ts';
import { readAlgorithm } from './algorithm-identifier.ts';
import { requireDer } from './canonical-der.ts';
import { type DerValue, identifierKey, readAll } from './der.ts';
import { type Extensions, readExtensions } from './extensions.ts';
import { keyAlgorithms, readPublicKey } from './request-public-key.ts';

const tags = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  version: 0xa0,
  extensions: 0xa3,
} as const;

/** Types of text in names: UTF8String, NumericString, PrintableString, T61String, IA5String, BMPString. */
const textTags: ReadonlySet<number> = new Set([0x0c, 0x12, 0x13, 0x14, 0x16, 0x1e]);

/** Extensions of RFC 5280 section 4.2.1 and the types of their values. */
const extensionTags: ReadonlyMap<string, number> = new Map(
  Object.entries({
    '2.5.29.14': tags.octetString,
    '2.5.29.15': tags.bitString,
    '2.5.29.17': tags.sequence,
    '2.5.29.30': tags.sequence,
    '2.5.29.31': tags.sequence,
    '2.5.29.32': tags.sequence,
    '2.5.29.33': tags.sequence,
    '2.5.29.35': tags.sequence,
    '2.5.29.36': tags.sequence,
    '2.5.29.37': tags.sequence,
    '2.5.29.54': tags.integer,
  }).map(([id, tag]) => [identifierKey(id), tag]),
);

/**
 * Returns the extensions of a certificate in DER; undefined for versions 1 and 2. Throws an Error unless the bytes are one
 * whole certificate in the form of RFC 5280 section 4.1. OpenSSL and Go each read some that the other refuses; what passes
 * here is read by both. Signatures and dates are not verified.
 */
export function requireCertificate(bytes: Buffer): Extensions | undefined {
  requireDer(bytes, { valuesMax: limits.certificateValuesMax, depthMax: limits.derDepthMax });
  const [body, algorithm, signature, ...others] = membersOf(readAll(bytes)[0]);
  if (signature?.tag !== tags.bitString || others.length > 0) throw new RangeError('x509: malformed certificate');
  const fields = [...membersOf(body)];
  const version = fields[0]?.tag === tags.version ? readVersion(fields.shift()) : 1;
  const [serial, innerAlgorithm, issuer, validity, subject, key] = fields;
  if (serial?.tag !== tags.integer || (serial.content[0] ?? 0) >= 0x80) throw new RangeError('x509: bad serial number');
  if (!algorithm || !innerAlgorithm?.whole.equals(algorithm.whole)) throw new RangeError('x509: two algorithms');
  requireName(issuer);
  requireName(subject);
  const times = membersOf(validity);
  if (times.length !== 2 || !times.every(isTime)) throw new RangeError('x509: malformed validity');
  requireKey(key);
  const extensions = readExtensions(new X509Certificate(bytes));
  if (extensions && version !== 3) throw new RangeError('x509: extensions need version 3');
  for (const [id, { value }] of extensions ?? []) requireValue(value, extensionTags.get(id));
  return extensions;
}

function membersOf(value: DerValue | undefined): readonly DerValue[] {
  if (value?.tag !== tags.sequence) throw new RangeError('x509: malformed certificate');
  return readAll(value.content);
}

function readVersion(field: DerValue | undefined): number {
  const [version, ...others] = field ? readAll(field.content) : [];
  const [number = 0xff] = version?.content ?? [];
  if (version?.tag !== tags.integer || version.content.length !== 1 || number > 2 || others.length > 0) {
    throw new RangeError('x509: invalid version');
  }
  return number + 1;
}

function requireName(name: DerValue | undefined): void {
  for (const { tag, content } of membersOf(name)) {
    if (tag !== tags.set) throw new RangeError('x509: invalid RDNSequence');
    for (const attribute of readAll(content)) {
      const [, value, ...others] = membersOf(attribute);
      if (!value || !textTags.has(value.tag) || others.length > 0) throw new RangeError('x509: invalid RDNSequence');
    }
  }
}

const utcTime = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;
const generalizedTime = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;

/** A moment that there is, in the one form of RFC 5280 section 4.1.2.5. */
function isTime({ tag, content }: DerValue): boolean {
  const pattern = tag === tags.utcTime ? utcTime : tag === tags.generalizedTime ? generalizedTime : undefined;
  const match = pattern?.exec(content.toString('latin1'));
  if (!match) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  const date = new Date(Date.UTC(2000 + (year % 100), month - 1, day, hour, minute, second));
  // The century counts for 29 February only.
  const isLeapDay = month === 2 && day === 29;
  return (
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    date.getUTCHours() === hour &&
    date.getUTCMinutes() === minute &&
    date.getUTCSeconds() === second &&
    !(isLeapDay && year % 100 === 0 && year > 99 && year % 400 !== 0)
  );
}

/** Keys of algorithms that are not known here may have any form. */
function requireKey(key: DerValue | undefined): void {
  const [algorithm] = membersOf(key);
  if (!key || !algorithm) throw new RangeError('x509: malformed certificate');
  if (keyAlgorithms.has(readAlgorithm(algorithm).id)) readPublicKey(key);
}

/** Extensions that are not known here may have any value. */
function requireValue(value: Buffer, tag: number | undefined): void {
  if (tag === undefined) return;
  requireDer(value, { valuesMax: limits.certificateValuesMax, depthMax: limits.derDepthMax });
  if (value[0] !== tag) throw new RangeError('x509: malformed extension');
}
