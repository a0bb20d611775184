import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { asRequest, storedSigner, updatesRequest } from './certificate-requests.ts';
import { sameContent } from './same-content.ts';
import { requireSigner, type SignerPlugins } from './signer-permission.ts';

/** Updates of `status` that change the certificate or conditions need the verb `sign` on the signer (spec section 2.7). */
export const certificateSigning = (options: SignerPlugins): AdmissionPlugin => ({
  name: 'CertificateSigning',
  sideEffects: 'none',
  concerns: (attributes) => updatesRequest(attributes, options.group, 'status') && changesResult(attributes),
  validate: (attributes) => requireSigner(attributes, options, { verb: 'sign', signerName: storedSigner(attributes) }),
});

function changesResult({ object, old }: AdmissionAttributes): boolean {
  const [next, last] = [asRequest(object)?.status, asRequest(old)?.status];
  return !sameContent(next?.certificate, last?.certificate) || !sameContent(next?.conditions, last?.conditions);
}
