import { createHash, createPublicKey, type KeyObject, sign, X509Certificate } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import type { Random } from '../base/random.ts';
import * as der from './der.ts';

/** The certificate subject, limited to the parts that identify a user or host here. */
export interface Subject {
  readonly commonName: string;
  /** Groups of the user, in client certificates (spec section 5.2). */
  readonly organizations?: readonly string[];
}

export type CertificateUse = 'authority' | 'serverAuth' | 'clientAuth';

interface CertificateTemplate {
  readonly subject: Subject;
  readonly publicKey: KeyObject;
  readonly uses: readonly CertificateUse[];
  /** Host names and IP addresses. */
  readonly hosts?: readonly string[];
  /** Wall-clock milliseconds. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** A certificate authority: its certificate and private key. */
export interface Authority {
  readonly certificate: X509Certificate;
  readonly privateKey: KeyObject;
}

const oids = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternativeName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  sha256WithRsa: '1.2.840.113549.1.1.11',
} as const;

/** Bits of the key usage extension (RFC 5280 section 4.2.1.3). */
const keyUsageBits = { digitalSignature: 0, keyCertSign: 5, crlSign: 6 } as const;

/** RFC 5280 section 4.1.2.2 allows 20 bytes; 16 random bytes cannot be guessed and do not collide. */
const serialBytes = 16;

/** Issues a certificate signed by `authority`. It expires no later than the authority. */
export function issueCertificate(authority: Authority, request: CertificateTemplate, random: Random): X509Certificate {
  const issuer = readIssuer(authority.certificate);
  const notAfter = Math.min(request.notAfter, Date.parse(authority.certificate.validTo));
  return signCertificate({ ...request, notAfter }, issuer, authority.privateKey, random);
}

/** Issues a certificate signed by its own key: an authority, or a self-signed server certificate. */
export function issueSelfSigned(request: CertificateTemplate, privateKey: KeyObject, random: Random): X509Certificate {
  const issuer = { name: encodeName(request.subject), keyIdentifier: keyIdentifier(request.publicKey) };
  return signCertificate(request, issuer, privateKey, random);
}

interface Issuer {
  /** DER, copied byte for byte from the authority's certificate, because names are compared bytewise. */
  readonly name: Buffer;
  readonly keyIdentifier: Buffer | undefined;
}

function signCertificate(
  request: CertificateTemplate,
  issuer: Issuer,
  privateKey: KeyObject,
  random: Random,
): X509Certificate {
  const algorithm = signatureAlgorithm(privateKey);
  const body = der.sequence(
    der.explicit(0, der.unsignedInteger(Buffer.from([2]))),
    der.unsignedInteger(serialNumber(random)),
    algorithm,
    issuer.name,
    der.sequence(der.time(request.notBefore), der.time(request.notAfter)),
    encodeName(request.subject),
    request.publicKey.export({ type: 'spki', format: 'der' }),
    der.explicit(3, der.sequence(...extensions(request, issuer))),
  );
  const signature = sign('sha256', body, privateKey);
  return new X509Certificate(der.sequence(body, algorithm, der.bitString(signature)));
}

/** Positive and never zero: the top bit is clear and the next one is set. */
function serialNumber(random: Random): Uint8Array {
  const bytes = Uint8Array.from(random.bytes(serialBytes));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

function signatureAlgorithm(key: KeyObject): Buffer {
  switch (key.asymmetricKeyType) {
    case 'ec':
      return der.sequence(der.objectIdentifier(oids.ecdsaWithSha256));
    case 'rsa':
      return der.sequence(der.objectIdentifier(oids.sha256WithRsa), Buffer.from([5, 0]));
    default:
      throw new TypeError(`cannot sign certificates with a key of type ${key.asymmetricKeyType}`);
  }
}

/** Organizations come first, as other issuers write them; the order has no meaning. */
function encodeName(subject: Subject): Buffer {
  const attribute = (oid: string, value: string): Buffer =>
    der.setOf(der.sequence(der.objectIdentifier(oid), der.utf8String(value)));
  return der.sequence(
    ...(subject.organizations ?? []).map((organization) => attribute(oids.organization, organization)),
    attribute(oids.commonName, subject.commonName),
  );
}

function extensions(request: CertificateTemplate, issuer: Issuer): Buffer[] {
  const extension = (oid: string, value: Buffer, critical = false): Buffer =>
    der.sequence(der.objectIdentifier(oid), ...(critical ? [der.boolean(true)] : []), der.octetString(value));
  const isAuthority = request.uses.includes('authority');
  const extended = request.uses.flatMap((use) => (use === 'authority' ? [] : [der.objectIdentifier(oids[use])]));
  const hosts = (request.hosts ?? []).map(encodeHost);
  return [
    extension(oids.keyUsage, keyUsage(isAuthority), true),
    ...(extended.length > 0 ? [extension(oids.extendedKeyUsage, der.sequence(...extended))] : []),
    extension(oids.basicConstraints, isAuthority ? der.sequence(der.boolean(true)) : der.sequence(), true),
    extension(oids.subjectKeyIdentifier, der.octetString(keyIdentifier(request.publicKey))),
    ...(issuer.keyIdentifier
      ? [extension(oids.authorityKeyIdentifier, der.sequence(der.implicit(0, issuer.keyIdentifier)))]
      : []),
    ...(hosts.length > 0 ? [extension(oids.subjectAlternativeName, der.sequence(...hosts))] : []),
  ];
}

const keyUsage = (isAuthority: boolean): Buffer =>
  der.namedBits([
    keyUsageBits.digitalSignature,
    ...(isAuthority ? [keyUsageBits.keyCertSign, keyUsageBits.crlSign] : []),
  ]);

/** A GeneralName (RFC 5280 section 4.2.1.6). */
function encodeHost(host: string): Buffer {
  if (isIPv4(host)) return der.implicit(7, Buffer.from(host.split('.').map(Number)));
  if (isIPv6(host)) return der.implicit(7, ipv6Bytes(host));
  return der.implicit(2, Buffer.from(host, 'latin1'));
}

function ipv6Bytes(address: string): Buffer {
  // WHATWG URL normalises the address to hexadecimal groups, expands an IPv4 suffix and rejects zones.
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = text.split('::');
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return Buffer.from([...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff]));
}

/** RFC 7093 section 2 method 4, truncated to the customary 20 bytes. */
const keyIdentifier = (key: KeyObject): Buffer =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20);

/** Encoded subject and key identifier of an issuing certificate, which may come from elsewhere. */
function readIssuer(certificate: X509Certificate): Issuer {
  const [outer] = der.readAll(certificate.raw);
  const [body] = outer ? der.readAll(outer.content) : [];
  const fields = body ? der.readAll(body.content) : [];
  // Version 1 certificates omit the version field; the subject is the fifth field after it.
  const subject = fields[fields[0]?.tag === 0xa0 ? 5 : 4];
  if (!subject) throw new RangeError('certificate without a subject');
  const extensionList = fields.find((field) => field.tag === 0xa3);
  return { name: subject.whole, keyIdentifier: extensionList && readKeyIdentifier(extensionList) };
}

function readKeyIdentifier(extensionList: der.DerValue): Buffer | undefined {
  const wanted = der.objectIdentifier(oids.subjectKeyIdentifier);
  for (const list of der.readAll(extensionList.content)) {
    for (const extension of der.readAll(list.content)) {
      const parts = der.readAll(extension.content);
      const value = parts.at(-1);
      if (parts[0]?.whole.equals(wanted) && value) return der.readAll(value.content)[0]?.content;
    }
  }
  return undefined;
}

/** Whether the certificate holds the public key of that private key. */
export const certifies = (certificate: X509Certificate, privateKey: KeyObject): boolean =>
  certificate.publicKey.equals(createPublicKey(privateKey));
