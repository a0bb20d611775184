import type { X509Certificate } from 'node:crypto';
import type { StatusError } from '../meta/status-error.ts';
import { type TrustPool, UntrustedCertificate } from '../pki/trust-pool.ts';
import { type Credentials, unauthorized } from './authenticator.ts';

/**
 * The client certificate, if the pool trusts it; undefined if the client presented none. Throws an Unauthorized
 * StatusError if it is not trusted.
 */
export function verifiedCertificate(
  { certificate, certificateError }: Credentials['peer'],
  pool: TrustPool,
): X509Certificate | undefined {
  if (certificateError !== undefined) throw unauthorized(certificateError);
  if (!certificate) return undefined;
  try {
    pool.verify(certificate);
  } catch (error) {
    throw refusalOf(error);
  }
  return certificate;
}

/** Cached, because with several pools all but one reject every request of a connection. */
const refusals = new WeakMap<UntrustedCertificate, StatusError>();

function refusalOf(error: unknown): StatusError {
  if (!(error instanceof UntrustedCertificate)) return unauthorized(error);
  const refusal = refusals.get(error) ?? unauthorized(error);
  refusals.set(error, refusal);
  return refusal;
}
