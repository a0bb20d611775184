import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeCertificate } from './certificate-fixture.ts';
import * as der from './der.ts';
import { anchorFault } from './trust-anchor.ts';

const root = makeCertificate({ name: 'root', authority: true });
const leaf = makeCertificate({ name: 'leaf', issuer: root });
const { raw } = root.certificate;
const constraintsId = der.objectIdentifier('2.5.29.19');
const keyUsageId = der.objectIdentifier('2.5.29.15');

/** The certificate with other bytes of the same number; signatures are not checked. */
function patched(from: ArrayLike<number>, to: ArrayLike<number>): Buffer {
  assert.equal(from.length, to.length);
  const at = raw.indexOf(Buffer.from(Array.from(from)));
  assert.ok(at >= 0);
  return Buffer.concat([raw.subarray(0, at), Buffer.from(Array.from(to)), raw.subarray(at + from.length)]);
}

/** Parts of the root as they stand in it. */
const fields = der
  .readAll(der.readAll(der.readAll(raw)[0]?.content ?? raw)[0]?.content ?? raw)
  .map(({ whole }) => whole);
const serial = fields[1] ?? assert.fail();
const algorithmId = der.objectIdentifier('1.2.840.10045.4.3.2');
const keyId = der.objectIdentifier('1.2.840.10045.2.1');
const time = der.readAll(der.readAll(fields[4] ?? raw)[0]?.content ?? raw)[0]?.whole ?? assert.fail();
const text = Buffer.from([0x0c, 4, ...Buffer.from('root')]);
const point = raw.subarray(raw.indexOf(Buffer.from([3, 0x42, 0, 4])) + 4).subarray(0, 32);

/** The root with these bytes as the value of its basic constraints: `30 03 01 01 ff`. */
const withConstraints = (value: readonly number[]): Buffer =>
  patched(Buffer.from([4, 5, 0x30, 3, 1, 1, 0xff]), Buffer.from([4, 5, ...value]));

const pathLength = makeCertificate({ authority: { pathLength: 3 } }).certificate.raw;

/** The length of the certificate in a byte more than needed: BER, not DER. */
const longer = Buffer.concat([Buffer.from([0x30, 0x83, 0]), raw.subarray(2)]);

/** The root with further extensions. */
function withExtensions(count: number): Buffer {
  const [body, ...signature] = der.readAll(der.readAll(raw)[0]?.content ?? raw);
  const fields = der.readAll(body?.content ?? raw);
  const [list] = der.readAll(fields.at(-1)?.content ?? raw);
  const more = Array.from({ length: count }, (_, at) =>
    der.sequence(der.objectIdentifier(`1.2.${at}`), der.octetString(Buffer.alloc(0))),
  );
  const extensions = der.explicit(3, der.sequence(list?.content ?? raw, ...more));
  const whole = der.sequence(...fields.slice(0, -1).map((field) => field.whole), extensions);
  return der.sequence(whole, ...signature.map((part) => part.whole));
}

const rows: readonly (readonly [why: string, bytes: Buffer, fault: ReturnType<typeof anchorFault>])[] = [
  ['an authority', raw, undefined],
  ['with a path length', pathLength, undefined],
  ['with further extensions', withExtensions(100), undefined],
  ['that has expired', makeCertificate({ authority: true, notAfter: 0 }).certificate.raw, undefined],
  ['issued by another', makeCertificate({ authority: true, issuer: root }).certificate.raw, undefined],
  ['without key usage', makeCertificate({ authority: true, withoutKeyUsage: true }).certificate.raw, undefined],
  [
    'whose key may not sign certificates',
    patched(Buffer.from([3, 2, 2, 0x84]), Buffer.from([3, 2, 2, 0x80])),
    undefined,
  ],
  ['no authority', leaf.certificate.raw, 'notAuthority'],
  ['version 1', makeCertificate({ version1: true }).certificate.raw, 'notAuthority'],
  ['no basic constraints', patched(constraintsId, der.objectIdentifier('2.5.29.99')), 'notAuthority'],
  ['CA is false, explicitly', withConstraints([0x30, 3, 1, 1, 0]), 'notAuthority'],
  ['CA is 1', withConstraints([0x30, 3, 1, 1, 1]), 'badConstraints'],
  ['CA is two bytes', withConstraints([0x30, 3, 1, 2, 0xff]), 'notX509'],
  ['CA is text', withConstraints([0x30, 3, 0xc, 1, 0xff]), 'badConstraints'],
  ['constraints are a set', withConstraints([0x31, 3, 1, 1, 0xff]), 'badConstraints'],
  ['constraints are cut off', withConstraints([0x30, 4, 1, 1, 0xff]), 'notX509'],
  ['a negative path length', withConstraints([0x30, 3, 2, 1, 0xff]), 'badConstraints'],
  ['basic constraints twice', patched(keyUsageId, constraintsId), 'notX509'],
  [
    'a negative serial number',
    patched(
      serial,
      serial.map((byte, at) => (at === 2 ? byte | 0x80 : byte)),
    ),
    'notX509',
  ],
  ['a version that is none', patched([0xa0, 3, 2, 1, 2], [0xa0, 3, 2, 1, 3]), 'notX509'],
  ['extensions in version 1', patched([0xa0, 3, 2, 1, 2], [0xa0, 3, 2, 1, 0]), 'notX509'],
  ['another algorithm of its signature', patched(algorithmId, der.objectIdentifier('1.2.840.10045.4.3.3')), 'notX509'],
  [
    'a month that is none',
    patched(time, [...time.subarray(0, 4), ...Buffer.from('99'), ...time.subarray(6)]),
    'notX509',
  ],
  ['text of another type in its name', patched(text, [0x1b, ...text.subarray(1)]), 'notX509'],
  ['a name that is no text', patched(text, [4, ...text.subarray(1)]), 'notX509'],
  [
    'a point that is not on the curve',
    patched(
      point,
      point.map((byte) => byte ^ 1),
    ),
    'notX509',
  ],
  ['a key of an algorithm that is not known', patched(keyId, der.objectIdentifier('1.2.840.10045.2.9')), undefined],
  ['key usages that are no bits', patched([3, 2, 2, 0x84], [4, 2, 2, 0x84]), 'notX509'],
  ['nothing', Buffer.alloc(0), 'notX509'],
  ['text', Buffer.from('text'), 'notX509'],
  ['PEM', Buffer.from(root.cert), 'notX509'],
  ['bytes at the end', Buffer.concat([raw, Buffer.from([0])]), 'notX509'],
  ['a certificate at the end', Buffer.concat([raw, raw]), 'notX509'],
  ['a length of more bytes than it needs', longer, 'notX509'],
  ['thousands of extensions', withExtensions(2_000), 'notX509'],
  ['cut off', raw.subarray(0, -1), 'notX509'],
  ['another sequence', der.sequence(der.boolean(true)), 'notX509'],
];

describe('a trust anchor', () => {
  for (const [why, bytes, fault] of rows) it(why, () => assert.equal(anchorFault(bytes), fault));
});
