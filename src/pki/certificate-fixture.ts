import { createPublicKey, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import * as der from './der.ts';
import { generateKey, keyToPem } from './keys.ts';

/** Test support: certificates of any shape, including ones that this program never issues. */
export interface MadeCertificate {
  readonly certificate: X509Certificate;
  readonly privateKey: KeyObject;
  /** PEM texts. */
  readonly cert: string;
  readonly key: string;
}

export interface CertificateRecipe {
  /** Common names, in order. */
  readonly name?: string | readonly string[];
  readonly organizations?: readonly string[];
  /** The issuer of the certificate. Default: self-signed. */
  readonly issuer?: MadeCertificate;
  /** Certificate whose key pair is reused. Default: a new key pair. */
  readonly keyOf?: Pick<MadeCertificate, 'privateKey'>;
  /** Adds basic constraints of an authority and the key usage for signing certificates. */
  readonly authority?: boolean | { readonly pathLength: number };
  /** Extended key usages as object identifiers. Default: any use. */
  readonly uses?: readonly string[];
  /** Object identifier of an additional critical extension with an empty value. */
  readonly criticalExtension?: string;
  /** Bits of the key usage extension. Default: digital signature; for authorities also certificate signing. */
  readonly keyUsage?: readonly number[];
  /** Omits the key usage extension: any usage. */
  readonly withoutKeyUsage?: boolean;
  /** An X.509 version 1 certificate, which has no extensions. */
  readonly version1?: boolean;
  /** Wall-clock milliseconds. */
  readonly notBefore?: number;
  readonly notAfter?: number;
}

export const forClients = '1.3.6.1.5.5.7.3.2';
export const forServers = '1.3.6.1.5.5.7.3.1';

const hourMs = 3600_000;
const algorithm = der.sequence(der.objectIdentifier('1.2.840.10045.4.3.2'));

export function makeCertificate(recipe: CertificateRecipe): MadeCertificate {
  const privateKey = recipe.keyOf?.privateKey ?? generateKey();
  const subject = encodeName(recipe);
  const { notBefore = Date.now() - hourMs, notAfter = Date.now() + hourMs, issuer } = recipe;
  const body = der.sequence(
    ...(recipe.version1 ? [] : [der.explicit(0, der.unsignedInteger(Buffer.from([2])))]),
    der.unsignedInteger(randomBytes(8)),
    algorithm,
    issuer ? subjectOf(issuer.certificate) : subject,
    der.sequence(der.time(notBefore), der.time(notAfter)),
    subject,
    createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
    ...(recipe.version1 ? [] : [der.explicit(3, der.sequence(...extensions(recipe)))]),
  );
  const signature = sign('sha256', body, issuer?.privateKey ?? privateKey);
  const certificate = new X509Certificate(der.sequence(body, algorithm, der.bitString(signature)));
  return { certificate, privateKey, cert: certificate.toString(), key: keyToPem(privateKey) };
}

function encodeName({ name = 'someone', organizations = [] }: CertificateRecipe): Buffer {
  const part = (type: string, value: string): Buffer =>
    der.setOf(der.sequence(der.objectIdentifier(type), der.utf8String(value)));
  return der.sequence(
    ...organizations.map((each) => part('2.5.4.10', each)),
    ...[name].flat().map((each) => part('2.5.4.3', each)),
  );
}

function subjectOf(certificate: X509Certificate): Buffer {
  const body = der.readAll(certificate.raw)[0]?.content ?? Buffer.alloc(0);
  const fields = der.readAll(der.readAll(body)[0]?.content ?? Buffer.alloc(0));
  return fields[fields[0]?.tag === 0xa0 ? 5 : 4]?.whole ?? Buffer.alloc(0);
}

function extensions(recipe: CertificateRecipe): Buffer[] {
  const { authority, uses, criticalExtension, withoutKeyUsage, keyUsage = authority ? [0, 5] : [0] } = recipe;
  const extension = (id: string, value: Uint8Array, critical: boolean): Buffer =>
    der.sequence(der.objectIdentifier(id), ...(critical ? [der.boolean(true)] : []), der.octetString(value));
  const length = typeof authority === 'object' ? [der.unsignedInteger(Buffer.from([authority.pathLength]))] : [];
  return [
    ...(withoutKeyUsage ? [] : [extension('2.5.29.15', der.namedBits(keyUsage), true)]),
    extension('2.5.29.19', authority ? der.sequence(der.boolean(true), ...length) : der.sequence(), true),
    ...(uses ? [extension('2.5.29.37', der.sequence(...uses.map(der.objectIdentifier)), false)] : []),
    ...(criticalExtension ? [extension(criticalExtension, der.sequence(), true)] : []),
  ];
}

/** The certificate as a TLS connection presents it if the client sent the others after it. */
export function sentWith(leaf: MadeCertificate, ...others: readonly MadeCertificate[]): X509Certificate {
  const chain = [leaf, ...others].map(({ certificate }) => new X509Certificate(certificate.raw));
  for (const [at, certificate] of chain.entries()) {
    Object.defineProperty(certificate, 'issuerCertificate', { value: chain[at + 1] });
  }
  return chain[0] as X509Certificate;
}
