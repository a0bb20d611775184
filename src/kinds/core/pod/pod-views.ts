import type { ApiObject } from '../../../meta/api-object.ts';
import type { ViewSubresource } from '../../kind.ts';
import { asPod } from './pod-schema.ts';
import { validateEphemeralUpdate } from './validation/ephemeral-update-validation.ts';
import { validateStatusUpdate } from './validation/status-validation.ts';

/**
 * `pods/{name}/status`: for who runs the pod. Labels, annotations and finalizers can be changed through it, as
 * published; the owners cannot, and the class of service is kept where a writer does not know it.
 */
export const podStatusView: ViewSubresource = {
  type: 'view',
  name: 'status',
  verbs: ['get', 'update', 'patch'],
  prepareForUpdate: (object, old) => {
    object['spec'] = old['spec'];
    restore(object.metadata, old.metadata, ['ownerReferences']);
    const qosClass = asPod(old).status?.qosClass;
    const { status } = asPod(object);
    if (status && qosClass !== undefined) status.qosClass ??= qosClass;
  },
  validateUpdate: validateStatusUpdate,
};

/** `pods/{name}/ephemeralcontainers`: the only door through which ephemeral containers are added. */
export const podEphemeralContainersView: ViewSubresource = {
  type: 'view',
  name: 'ephemeralcontainers',
  verbs: ['get', 'update', 'patch'],
  prepareForUpdate: (object, old) => {
    const added = asPod(object).spec?.ephemeralContainers;
    const { ephemeralContainers: _, ...spec } = asPod(old).spec ?? {};
    object['spec'] = { ...spec, ...(added && { ephemeralContainers: added }) };
    object['status'] = old['status'];
    restore(object.metadata, old.metadata, ['labels', 'annotations', 'finalizers', 'ownerReferences']);
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
