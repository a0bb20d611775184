import { createHash, type KeyObject, X509Certificate } from 'node:crypto';
import type { Random } from '../base/random.ts';
import { encodeAlternativeName, nameOfHost } from './alternative-names.ts';
import { signatureWith, signedLater, signedNow } from './certificate-signature.ts';
import * as der from './der.ts';
import { readExtensions } from './extensions.ts';
import { extendedKeyUsages, type KeyUsages, keyUsageBits } from './key-usages.ts';

/** The certificate subject, limited to the parts that identify a user or host here. */
export interface Subject {
  readonly commonName: string;
  /** Groups of the user, in client certificates (spec section 5.2). */
  readonly organizations?: readonly string[];
}

export type CertificateUse = 'authority' | 'serverAuth' | 'clientAuth';

/** A certificate for this program's own use. */
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

/** What a certificate says, but for its issuer and serial number. */
interface CertificateContent {
  /** Name in DER. */
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly isAuthority: boolean;
  readonly usages: KeyUsages;
  /** GeneralNames in DER. */
  readonly alternativeNames: readonly Buffer[];
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
} as const;

/** RFC 5280 section 4.1.2.2 allows 20 bytes; 16 random bytes cannot be guessed and do not collide. */
const serialBytes = 16;

/** Issues a certificate signed by `authority`. It expires no later than the authority. */
export function issueCertificate(authority: Authority, template: CertificateTemplate, random: Random): X509Certificate {
  const content = contentOf(template);
  const notAfter = Math.min(content.notAfter, Date.parse(authority.certificate.validTo));
  const body = encodeBody({ ...content, notAfter }, issuerOf(authority), random);
  return new X509Certificate(signedNow(body, authority.privateKey));
}

/** Issues a certificate signed by its own key: an authority, or a self-signed server certificate. */
export function issueSelfSigned(template: CertificateTemplate, privateKey: KeyObject, random: Random): X509Certificate {
  const content = contentOf(template);
  const issuer = { name: content.subject, keyIdentifier: keyIdentifier(encodeKey(content.publicKey)), privateKey };
  return new X509Certificate(signedNow(encodeBody(content, issuer, random), privateKey));
}

/** A certificate with exactly this content, in DER; the signature is made on another thread. */
export const signContent = async (authority: Authority, content: CertificateContent, random: Random): Promise<Buffer> =>
  signedLater(encodeBody(content, issuerOf(authority), random), authority.privateKey);

function contentOf({ subject, uses, hosts = [], ...rest }: CertificateTemplate): CertificateContent {
  const isAuthority = uses.includes('authority');
  return {
    ...rest,
    subject: encodeName(subject),
    isAuthority,
    usages: {
      bits: [keyUsageBits.digitalSignature, ...(isAuthority ? [keyUsageBits.keyCertSign, keyUsageBits.crlSign] : [])],
      extended: uses.flatMap((use) => (use === 'authority' ? [] : [extendedKeyUsages[use]])),
    },
    alternativeNames: hosts.map((host) => encodeAlternativeName(nameOfHost(host))),
  };
}

interface Issuer {
  /** DER, copied byte for byte from the authority's certificate, because names are compared bytewise. */
  readonly name: Buffer;
  readonly keyIdentifier: Buffer | undefined;
  /** Decides the signature algorithm, which stands in the body too. */
  readonly privateKey: KeyObject;
}

/** The TBSCertificate (RFC 5280 section 4.1.2), version 3. */
function encodeBody(content: CertificateContent, issuer: Issuer, random: Random): Buffer {
  const publicKey = encodeKey(content.publicKey);
  return der.sequence(
    der.explicit(0, der.unsignedInteger(Buffer.from([2]))),
    der.unsignedInteger(serialNumber(random)),
    signatureWith(issuer.privateKey).algorithm,
    issuer.name,
    der.sequence(der.time(content.notBefore), der.time(content.notAfter)),
    content.subject,
    publicKey,
    der.explicit(3, der.sequence(...extensions(content, { issuer, publicKey }))),
  );
}

/** Positive and never zero: the top bit is clear and the next one is set. */
function serialNumber(random: Random): Uint8Array {
  const bytes = Uint8Array.from(random.bytes(serialBytes));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
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

function extensions(
  { subject, isAuthority, ...content }: CertificateContent,
  { issuer, publicKey }: { readonly issuer: Issuer; readonly publicKey: Buffer },
): Buffer[] {
  const extension = (oid: string, value: Buffer, critical = false): Buffer =>
    der.sequence(der.objectIdentifier(oid), ...(critical ? [der.boolean(true)] : []), der.octetString(value));
  const { bits, extended } = content.usages;
  return [
    ...(bits.length > 0 ? [extension(oids.keyUsage, der.namedBits(bits), true)] : []),
    ...(extended.length > 0
      ? [extension(oids.extendedKeyUsage, der.sequence(...extended.map(der.objectIdentifier)))]
      : []),
    extension(oids.basicConstraints, isAuthority ? der.sequence(der.boolean(true)) : der.sequence(), true),
    extension(oids.subjectKeyIdentifier, der.octetString(keyIdentifier(publicKey))),
    ...(issuer.keyIdentifier
      ? [extension(oids.authorityKeyIdentifier, der.sequence(der.implicit(0, issuer.keyIdentifier)))]
      : []),
    // Critical where it is all that names the subject (RFC 5280 section 4.2.1.6).
    ...(content.alternativeNames.length > 0
      ? [extension(oids.subjectAlternativeName, der.sequence(...content.alternativeNames), subject.equals(emptyName))]
      : []),
  ];
}

const emptyName = der.sequence();

/** RFC 7093 section 2 method 4, truncated to the customary 20 bytes. */
const keyIdentifier = (encodedKey: Buffer): Buffer => createHash('sha256').update(encodedKey).digest().subarray(0, 20);

/** SubjectPublicKeyInfo in DER. */
const encodeKey = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

const subjectKeyIdentifierId = der.identifierKey(oids.subjectKeyIdentifier);

/** Name and key identifier of an authority, whose certificate may come from elsewhere. */
function issuerOf({ certificate, privateKey }: Authority): Issuer {
  const [outer] = der.readAll(certificate.raw);
  const [body] = outer ? der.readAll(outer.content) : [];
  const fields = body ? der.readAll(body.content) : [];
  // Version 1 certificates omit the version field; the subject is the fifth field after it.
  const subject = fields[fields[0]?.tag === 0xa0 ? 5 : 4];
  if (!subject) throw new RangeError('certificate without a subject');
  const identifier = readExtensions(certificate)?.get(subjectKeyIdentifierId);
  const [octets] = identifier ? der.readAll(identifier.value) : [];
  return { name: subject.whole, keyIdentifier: octets?.content, privateKey };
}

/**
 * Whether the certificate holds the public key of that private key. `KeyObject.equals` is no way to ask: keys of two types
 * leave an error in OpenSSL's queue, and the next TLS connection that this thread reads from ends with it.
 */
export const certifies = (certificate: X509Certificate, privateKey: KeyObject): boolean =>
  certificate.checkPrivateKey(privateKey);
