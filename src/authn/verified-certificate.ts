import type { X509Certificate } from 'node:crypto';
import type { StatusError } from '../meta/status-error.ts';
import { type TrustPool, UntrustedCertificate } from '../pki/trust-pool.ts';
import { type Credentials, unauthorized } from './authenticator.ts';

/**
 * The certificate that the sender showed, where an authority of the pool vouches for it; undefined where none was shown.
 * Throws an Unauthorized StatusError where another was.
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

/** Made once: with several pools, all but one refuse each request of a connection. */
const refusals = new WeakMap<UntrustedCertificate, StatusError>();

function refusalOf(error: unknown): StatusError {
  if (!(error instanceof UntrustedCertificate)) return unauthorized(error);
  const refusal = refusals.get(error) ?? unauthorized(error);
  refusals.set(error, refusal);
  return refusal;
}
