import type { ApiObject } from '../../meta/api-object.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';

export const certificateRequests = 'certificatesigningrequests';

/** The fields of a CertificateSigningRequest that plugins read. */
type RequestView = ApiObject & {
  readonly spec?: { readonly signerName?: string; readonly request?: string };
  readonly status?: { readonly certificate?: string; readonly conditions?: readonly unknown[] };
};

export const asRequest = (object: ApiObject | undefined): RequestView | undefined => object;

/** Whether a write is an update of a subresource of CertificateSigningRequests. */
export const updatesRequest = (
  { operation, info }: Pick<AdmissionAttributes, 'operation' | 'info'>,
  group: string,
  subresource: 'approval' | 'status',
): boolean =>
  operation === 'update' &&
  info.group === group &&
  info.resource === certificateRequests &&
  info.subresource === subresource;

/** The signer of the stored request, which no update can change. */
export const storedSigner = ({ old }: AdmissionAttributes): string => asRequest(old)?.spec?.signerName ?? '';
