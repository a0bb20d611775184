import type { X509Certificate } from 'node:crypto';
import { limits } from '../base/limits.ts';
import { basicConstraints, type Extensions, extensionId, readExtensions } from './extensions.ts';

/** The time in which every certificate of a path is valid; wall-clock milliseconds, both ends included. */
export interface PathValidity {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Ways from a certificate to an authority that is trusted. */
interface Paths {
  /** One for each way that was found. None: the certificate is not trusted, whatever the time. */
  readonly validities: readonly PathValidity[];
  /** Why there is none. */
  readonly problem: string;
}

const clientAuth = '1.3.6.1.5.5.7.3.2';
const anyExtendedKeyUsage = '2.5.29.37.0';

/**
 * Critical extensions that are heeded: here, or by OpenSSL when it verified the chain for the connection, as with names
 * (2.5.29.30) and policies.
 */
const knownExtensions: ReadonlySet<string> = new Set(
  ['15', '17', '19', '30', '32', '33', '36', '37', '54'].map((last) => extensionId(`2.5.29.${last}`)),
);

/**
 * Looks for the ways from the certificate of a client to one of `anchors` (RFC 5280 section 6.1, for the use as client).
 * Each signature, the names, and of each issuer that it is an authority, may sign certificates, for clients, and this far
 * from the leaf. What the client sent with its certificate are candidates for the places between, and never trusted for
 * having been sent. An anchor is trusted as it is, whoever signed it.
 *
 * This is for a chain that OpenSSL has verified already, against the anchors of several pools together: it tells which of
 * them it leads to, and goes on telling it when they change. It does not repeat what OpenSSL checks of each certificate
 * alone: strength of keys and hashes, constraints of names.
 */
export function findPaths(leaf: X509Certificate, anchors: readonly X509Certificate[]): Paths {
  const search = new PathSearch(sentWith(leaf), anchors);
  search.extend([leaf]);
  return { validities: search.validities, problem: search.problem };
}

/** What the client sent behind its certificate, in that order. A resumed session has none. */
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
    // Names and key identifiers match, and the issuer's key usage allows signing certificates.
    if (!certificate.checkIssued(issuer)) return false;
    this.#checksLeft -= 1;
    if (this.#checksLeft < 0) return false;
    try {
      return certificate.verify(issuer.publicKey);
    } catch {
      // A key of a kind that OpenSSL does not know has signed nothing.
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
  /** Authorities between the certificate that is looked at and the leaf; those that only renew their own key don't count. */
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
    // What is no DER in a place that OpenSSL does not look at: it is a problem like any other.
    return 'cannot be read';
  }
}

function certificateProblem(certificate: X509Certificate, role: Role, below: number): string | undefined {
  const extensions = readExtensions(certificate);
  if (!isForClients(certificate)) return 'is not for client authentication';
  // Certificates of version 1 cannot say that they are an authority's: the operator says it of an anchor.
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

/** Without extended key usages any use is allowed; those of an authority bind all below it, as all servers read them. */
function isForClients(certificate: X509Certificate): boolean {
  // Despite its name this is the list of extended key usages.
  const uses: readonly string[] | undefined = certificate.keyUsage;
  return !uses || uses.includes(clientAuth) || uses.includes(anyExtendedKeyUsage);
}
