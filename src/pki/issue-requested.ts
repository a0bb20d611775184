import { X509Certificate } from 'node:crypto';
import { type AlternativeName, encodeAlternativeName } from './alternative-names.ts';
import type { PkiContext } from './ca.ts';
import { type Authority, signContent } from './certificate.ts';
import type { CertificateRequest } from './certificate-request.ts';
import { type KeyUsages, keyUsagesOf } from './key-usages.ts';

/** What is issued of a request besides its subject, key and alternative names. */
interface IssuingTerms {
  /** Names of `spec.usages` (spec section 2.7). */
  readonly usages: readonly string[];
  /** Milliseconds. */
  readonly lifetimeMs: number;
}

/** No authority can issue a certificate of this request. */
export class UnissuableRequestError extends Error {
  override readonly name = 'UnissuableRequestError';
}

const minuteMs = 60_000;
/** How long before now a certificate begins, for clients whose clocks are behind. */
const backdateMs = 5 * minuteMs;
/** Certificates that live shorter keep their whole lifetime; from longer ones the backdating is deducted. */
const shortMs = 8 * 60 * minuteMs;

/**
 * The certificate of a request, signed by the authority, with the times of kube-controller-manager: the subject is copied
 * byte for byte; of the requested extensions only the alternative names count; it is no authority itself. It never
 * outlives the authority. Rejects with an UnissuableRequestError if the request is not signed by its own key or asks for
 * what no certificate can say, with another Error if the authority has expired or cannot sign.
 */
export async function issueRequested(
  authority: Authority,
  request: CertificateRequest,
  { usages, lifetimeMs }: IssuingTerms,
  { clock, random }: PkiContext,
): Promise<X509Certificate> {
  const asked = readAsked(request, usages);
  const now = clock.now();
  const { validTo } = authority.certificate;
  const end = Date.parse(validTo);
  if (now >= end) throw new Error(`the authority has expired: it was valid until ${validTo}`);
  const content = {
    ...asked,
    subject: request.subjectDer,
    publicKey: request.publicKey,
    isAuthority: false,
    notBefore: now - backdateMs,
    notAfter: Math.min(end, now + lifetimeMs - (lifetimeMs < shortMs ? 0 : backdateMs)),
  };
  return readIssued(await signContent(authority, content, random));
}

/**
 * Only the subject is not ours: a request may name what DER allows and X.509 libraries refuse, such as an attribute whose
 * value is no text.
 */
function readIssued(der: Buffer): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch (cause) {
    throw new UnissuableRequestError('the subject has a value that cannot be in a certificate', { cause });
  }
}

interface Asked {
  readonly usages: KeyUsages;
  /** GeneralNames in DER. */
  readonly alternativeNames: readonly Buffer[];
}

function readAsked(request: CertificateRequest, usages: readonly string[]): Asked {
  const { signatureProblem } = request;
  if (signatureProblem !== undefined) throw new UnissuableRequestError(signatureProblem);
  try {
    return {
      usages: keyUsagesOf(usages),
      alternativeNames: alternativeNamesOf(request).map(encodeAlternativeName),
    };
  } catch (error) {
    throw new UnissuableRequestError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function alternativeNamesOf({ dnsNames, ipAddresses, emailAddresses, uris }: CertificateRequest): AlternativeName[] {
  const all = (type: AlternativeName['type'], values: readonly string[]) => values.map((value) => ({ type, value }));
  return [...all('dns', dnsNames), ...all('email', emailAddresses), ...all('ip', ipAddresses), ...all('uri', uris)];
}
