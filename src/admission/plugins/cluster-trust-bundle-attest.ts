import type { ApiObject } from '../../meta/api-object.ts';
import { changesNoMoreThanOwners } from '../../meta/owner-changes.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { requireSigner, type SignerPlugins } from './signer-permission.ts';

type BundleView = ApiObject & { readonly spec?: { readonly signerName?: string } };

/** The signer of the new state. Validation has seen that an update does not change it. */
const signerOf = ({ object }: AdmissionAttributes): string =>
  (object as BundleView | undefined)?.spec?.signerName ?? '';

/** Creating and changing a bundle of a signer needs the verb `attest` on the signer (spec section 2.8). */
export const clusterTrustBundleAttest = (options: SignerPlugins): AdmissionPlugin => ({
  name: 'ClusterTrustBundleAttest',
  sideEffects: 'none',
  concerns: (attributes) =>
    (attributes.operation === 'create' || attributes.operation === 'update') &&
    attributes.info.group === options.group &&
    attributes.info.resource === 'clustertrustbundles' &&
    signerOf(attributes) !== '' &&
    !isUnchanged(attributes),
  validate: (attributes) => requireSigner(attributes, options, { verb: 'attest', signerName: signerOf(attributes) }),
});

const isUnchanged = ({ object, old }: AdmissionAttributes): boolean =>
  object !== undefined && old !== undefined && changesNoMoreThanOwners(object, old);
