import type { ApiObject } from '../../meta/api-object.ts';
import type { Counted } from '../kind.ts';
import { typed } from '../typed.ts';
import { schema } from './certificate-signing-request-schema.ts';
import { issuedCertificate } from './issued-certificate.ts';

const scope = 'sliced by signer (only signer names of the domain of the dialect are told apart)';

export const requestedDurations = {
  name: 'apiserver_certificates_registry_csr_requested_duration_total',
  help: `Certificates issued on requests with a wanted lifetime, ${scope}.`,
  labels: ['signerName'],
} as const;

export const honoredDurations = {
  name: 'apiserver_certificates_registry_csr_honored_duration_total',
  help: `Certificates issued with the lifetime that was wanted, ${scope}.`,
  labels: ['signerName'],
} as const;

/** The back-dating of short-lived certificates, and a fraction of the wanted lifetime, count as honoured. */
const toleratedMs = 5 * 60_000;
const toleratedFraction = 1 / 20;

/** Counts a certificate when it is stored first, if the request wants a lifetime. */
export function countDuration(object: ApiObject, old: ApiObject, domain: string): readonly Counted[] {
  const { spec: { expirationSeconds, signerName = '' } = {}, status: { certificate: before = '' } = {} } = typed(schema, old);
  const { status: { certificate = '' } = {} } = typed(schema, object);
  if (expirationSeconds === undefined || before !== '' || certificate === '') return [];
  // Other names are chosen by clients.
  const labels = { signerName: signerName.startsWith(`${domain}/`) ? signerName : 'other' };
  const counted = { counter: requestedDurations, labels };
  return isHonored(expirationSeconds * 1000, lifetimeMs(certificate)) ? [counted, { counter: honoredDurations, labels }] : [counted];
}

const isHonored = (wantedMs: number, lifetime: number): boolean => Math.abs(wantedMs - lifetime) < toleratedMs + wantedMs * toleratedFraction;

function lifetimeMs(certificate: string): number {
  const { validFrom, validTo } = issuedCertificate(certificate);
  return Date.parse(validTo) - Date.parse(validFrom);
}
