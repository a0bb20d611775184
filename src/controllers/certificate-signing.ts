import type { Authority } from '../pki/certificate.ts';

/** The well-known signers that sign here (spec section 2.7). */
export type CertificateSigner = 'client' | 'nodeClient' | 'nodeServing';

/** What certificates are signed with. */
export interface CertificateSigning {
  /** The authority that each signer uses now; each call may return another. Signers without one do not sign. */
  readonly authorities: Readonly<Partial<Record<CertificateSigner, () => Authority>>>;
  /** Longest lifetime of a certificate, and that of requests that ask for none. Milliseconds. */
  readonly lifetimeMsMax: number;
}

/** One authority for all signers. */
export const authorityOfAll = (current: () => Authority): Required<CertificateSigning['authorities']> => ({
  client: current,
  nodeClient: current,
  nodeServing: current,
});

/** Default of `lifetimeMsMax`, as in kube-controller-manager: 365 days. */
export const defaultLifetimeMs = 8760 * 3600_000;
