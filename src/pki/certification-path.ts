import type { X509Certificate } from 'node:crypto';
import { limits } from '../base/limits.ts';
import { identifierKey } from './der.ts';
import { basicConstraints, type Extensions, readExtensions } from './extensions.ts';

/** The period in which every certificate of a path is valid; wall-clock milliseconds, both ends inclusive. */
export interface PathValidity {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Certification paths from a certificate to a trust anchor. */
interface Paths {
  /** One per path found. Empty: the certificate is never trusted, whatever the time. */
  readonly validities: readonly PathValidity[];
  /** Reason if there is no path. */
  readonly problem: string;
}

const clientAuth = '1.3.6.1.5.5.7.3.2';
const anyExtendedKeyUsage = '2.5.29.37.0';

/**
 * Critical extensions that are processed, either here or by OpenSSL when it verified the chain of the connection (name
 * constraints, 2.5.29.30, and policies).
 */
const knownExtensions: ReadonlySet<string> = new Set(
  ['15', '17', '19', '30', '32', '33', '36', '37', '54'].map((last) => identifierKey(`2.5.29.${last}`)),
);

/**
 * Finds the certification paths from a client certificate to one of `anchors` (RFC 5280 section 6.1, for client
 * authentication). Checks every signature and name, and that each issuer is an authority, may sign certificates, may
 * issue for clients, and allows the path length. Certificates that the client sent are candidates for intermediates and
 * not trusted by themselves. An anchor is trusted as it is, whoever signed it.
 *
 * OpenSSL has already verified the chain, but against the anchors of several pools together; this determines which pool
 * it leads to, and does so again when the anchors change. It does not repeat the checks OpenSSL makes on each single
 * certificate: key and hash strength, name constraints.
 */
export function findPaths(leaf: X509Certificate, anchors: readonly X509Certificate[]): Paths {
  const search = new PathSearch(sentWith(leaf), anchors);
  search.extend([leaf]);
  return { validities: search.validities, problem: search.problem };
}

/** Certificates that the client sent after its own, in order. Empty for a resumed session. */
function sentWith(leaf: X509Certificate): readonly X509Certificate[] {
  const sent: X509Certificate[] = [];
  for (let next = leaf.issuerCertificate; next && sent.length < limits.chainCertificatesMax; ) {
    sent.push(next);
    next = next.issuerCertificate;
  }
  return sent;
}

class PathSearch {
  readonly validities: PathValidity[] = [];
  problem = 'it is signed by no authority that is trusted here';
  readonly #sent: readonly X509Certificate[];
  readonly #anchors: readonly X509Certificate[];
  #checksLeft: number = limits.chainSignatureChecksMax;

  constructor(sent: readonly X509Certificate[], anchors: readonly X509Certificate[]) {
    this.#sent = sent;
    this.#anchors = anchors;
  }

  /** `path` begins with the leaf; each certificate is signed by the next one. */
  extend(path: readonly X509Certificate[]): void {
    const last = path.at(-1) as X509Certificate;
    if (this.#anchors.some((anchor) => anchor.raw.equals(last.raw))) {
      this.#complete(path);
      return;
    }
    for (const anchor of this.#anchors) if (this.#signed(last, anchor)) this.#complete([...path, anchor]);
    for (const issuer of this.#sent) {
      if (!path.some((each) => each.raw.equals(issuer.raw)) && this.#signed(last, issuer)) {
        this.extend([...path, issuer]);
      }
    }
  }

  #signed(certificate: X509Certificate, issuer: X509Certificate): boolean {
    // Checks that names and key identifiers match and that the issuer's key usage allows certificate signing.
    if (!certificate.checkIssued(issuer)) return false;
    this.#checksLeft -= 1;
    if (this.#checksLeft < 0) return false;
    try {
      return certificate.verify(issuer.publicKey);
    } catch {
      // OpenSSL does not support the key type, so the signature cannot be verified.
      return false;
    }
  }

  #complete(path: readonly X509Certificate[]): void {
    const problem = pathProblem(path);
    if (problem === undefined) this.validities.push(validityOf(path));
    else this.problem = problem;
  }
}

const validityOf = (path: readonly X509Certificate[]): PathValidity => ({
  notBefore: Math.max(...path.map(({ validFrom }) => Date.parse(validFrom))),
  notAfter: Math.min(...path.map(({ validTo }) => Date.parse(validTo))),
});

function pathProblem(path: readonly X509Certificate[]): string | undefined {
  /**
   * Authorities between the current certificate and the leaf, not counting self-issued ones (RFC 5280 section 6.1.4).
   */
  let below = 0;
  for (const [at, certificate] of path.entries()) {
    const role = at === 0 ? 'leaf' : at === path.length - 1 ? 'anchor' : 'intermediate';
    const problem = readableProblem(certificate, role, below);
    if (problem !== undefined) return role === 'leaf' ? `it ${problem}` : `an authority above it ${problem}`;
    if (role === 'intermediate' && certificate.subject !== certificate.issuer) below += 1;
  }
  return undefined;
}

type Role = 'leaf' | 'intermediate' | 'anchor';

function readableProblem(certificate: X509Certificate, role: Role, below: number): string | undefined {
  try {
    return certificateProblem(certificate, role, below);
  } catch {
    // Malformed DER in a place that OpenSSL does not parse.
    return 'cannot be read';
  }
}

function certificateProblem(certificate: X509Certificate, role: Role, below: number): string | undefined {
  const extensions = readExtensions(certificate);
  if (!isForClients(certificate)) return 'is not for client authentication';
  // Version 1 certificates cannot state that they are an authority; for an anchor the operator's configuration does.
  if (!extensions) return role === 'intermediate' ? 'is not the certificate of an authority' : undefined;
  for (const [id, { critical }] of extensions) {
    if (critical && !knownExtensions.has(id)) return 'has a critical extension that is not known here';
  }
  return role === 'leaf' ? undefined : authorityProblem(extensions, below);
}

function authorityProblem(extensions: Extensions, below: number): string | undefined {
  const { isAuthority, pathLengthMax } = basicConstraints(extensions);
  if (!isAuthority) return 'is not the certificate of an authority';
  return pathLengthMax !== undefined && below > pathLengthMax ? 'may not issue for authorities' : undefined;
}

/**
 * Without extended key usages any use is allowed; those of an authority restrict all certificates below it, as in Go
 * and OpenSSL.
 */
function isForClients(certificate: X509Certificate): boolean {
  // Despite its name, this property is the list of extended key usages.
  const uses: readonly string[] | undefined = certificate.keyUsage;
  return !uses || uses.includes(clientAuth) || uses.includes(anyExtendedKeyUsage);
}
