import type { AdmissionPlugin } from '../chain.ts';
import { storedSigner, updatesRequest } from './certificate-requests.ts';
import { requireSigner, type SignerPlugins } from './signer-permission.ts';

/** Updates of `approval` need the verb `approve` on the signer (spec section 2.7). */
export const certificateApproval = (options: SignerPlugins): AdmissionPlugin => ({
  name: 'CertificateApproval',
  sideEffects: 'none',
  concerns: (attributes) => updatesRequest(attributes, options.group, 'approval'),
  validate: (attributes) =>
    requireSigner(attributes, options, { verb: 'approve', signerName: storedSigner(attributes) }),
});
