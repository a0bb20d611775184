import type { ApiObject } from '../../../meta/api-object.ts';
import type { ViewSubresource } from '../../kind.ts';
import { keepMetadata } from '../../meta/status-view.ts';
import { asPod } from './pod-schema.ts';
import { validateEphemeralUpdate } from './validation/ephemeral-update-validation.ts';
import { validateStatusUpdate } from './validation/status-validation.ts';

/**
 * `pods/{name}/status`, for kubelets. As in kube-apiserver, it may also change labels, annotations and finalizers, but not
 * ownerReferences, and keeps qosClass if the writer omits it.
 */
export const podStatusView: ViewSubresource = {
  type: 'view',
  name: 'status',
  verbs: ['get', 'update', 'patch'],
  keepsGatedFields: true,
  prepareForUpdate: (object, old) => {
    object['spec'] = old['spec'];
    restore(object.metadata, old.metadata, ['ownerReferences']);
    const qosClass = asPod(old).status?.qosClass;
    const { status } = asPod(object);
    if (status && qosClass !== undefined) status.qosClass ??= qosClass;
  },
  validateUpdate: validateStatusUpdate,
};

/** `pods/{name}/ephemeralcontainers`: the only endpoint that can add ephemeral containers. */
export const podEphemeralContainersView: ViewSubresource = {
  type: 'view',
  name: 'ephemeralcontainers',
  verbs: ['get', 'update', 'patch'],
  prepareForUpdate: (object, old) => {
    const added = asPod(object).spec?.ephemeralContainers;
    const { ephemeralContainers: _, ...spec } = asPod(old).spec ?? {};
    object['spec'] = { ...spec, ...(added && { ephemeralContainers: added }) };
    object['status'] = old['status'];
    keepMetadata(object, old);
  },
  validateUpdate: (object, old, { dialect }) => validateEphemeralUpdate(object, old, dialect),
};

type Metadata = ApiObject['metadata'];

function restore(metadata: Metadata, old: Metadata, fields: readonly (keyof Metadata)[]): void {
  for (const field of fields) {
    delete metadata[field];
    if (old[field] !== undefined) Object.assign(metadata, { [field]: old[field] });
  }
}
