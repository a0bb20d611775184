import { groupMasters } from '../../request/user-info.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import { asRequest, certificateRequests } from './certificate-requests.ts';

interface SubjectRestrictionOptions {
  /** Full name of the certificates group. */
  readonly group: string;
  /** The signer of client certificates for the API server. */
  readonly clientSigner: string;
  /** The organizations in the subject of a certificate request in base64; rejects if it cannot be read. */
  readonly organizations: (request: string) => Promise<readonly string[]>;
}

/** Nobody can request a client certificate of the group that is always allowed everything (spec section 5.7). */
export const certificateSubjectRestriction = (options: SubjectRestrictionOptions): AdmissionPlugin => ({
  name: 'CertificateSubjectRestriction',
  sideEffects: 'none',
  concerns: ({ operation, info, object }) =>
    operation === 'create' &&
    info.group === options.group &&
    info.resource === certificateRequests &&
    info.subresource === '' &&
    asRequest(object)?.spec?.signerName === options.clientSigner,
  async validate(attributes) {
    const { request = '' } = asRequest(attributes.object)?.spec ?? {};
    const organizations = await options.organizations(request).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : 'unreadable';
      throw admissionForbidden(attributes, `failed to parse CSR: ${why}`);
    });
    if (!organizations.includes(groupMasters)) return;
    throw admissionForbidden(
      attributes,
      `use of ${options.clientSigner} signer with ${groupMasters} group is not allowed`,
    );
  },
});
