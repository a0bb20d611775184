import { always, bool, documentedEnum, list, map, opt, ptr, quantity, req, string, struct } from '../../../../schema/schema.ts';
import { labelSelector } from '../../../meta/label-selector.ts';
import { objectMeta } from '../../../meta/object-meta.ts';
import { typedLocalObjectReference, typedObjectReference } from '../../references.ts';

export const persistentVolumeClaimVolumeSource = struct('api.core.v1.PersistentVolumeClaimVolumeSource', 'A persistent volume claim of the same namespace.', {
  claimName: req(1, string(), 'Name of the claim.'),
  readOnly: opt(2, bool(), 'Mount without permission to write.'),
});

const volumeResourceRequirements = struct('api.core.v1.VolumeResourceRequirements', 'Storage that is asked for and allowed.', {
  limits: opt(1, map(quantity()), 'Most storage of each kind.'),
  requests: opt(2, map(quantity()), 'Least storage of each kind.'),
});

export const persistentVolumeClaimSpec = struct(
  'api.core.v1.PersistentVolumeClaimSpec',
  'What storage a claim asks for.',
  {
    accessModes: opt(1, list(documentedEnum('ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod')), 'Ways in which the volume must be mountable.'),
    selector: ptr(4, labelSelector, 'Selects volumes by their labels.'),
    resources: always(2, volumeResourceRequirements, 'Least and most storage of the volume.'),
    volumeName: opt(3, string(), 'Name of the persistent volume that the claim is bound to.'),
    storageClassName: ptr(5, string(), 'Storage class that the claim requires.'),
    volumeMode: ptr(6, documentedEnum('Block', 'Filesystem'), 'Whether the volume is a file system or a block device.', { default: 'Filesystem' }),
    dataSource: ptr(7, typedLocalObjectReference, 'Snapshot or claim that the volume is filled from.'),
    dataSourceRef: ptr(8, typedObjectReference, 'Object that the volume is filled from, of any kind and namespace.'),
    volumeAttributesClassName: ptr(9, string(), 'Volume attributes class that the claim uses.', { gate: 'VolumeAttributesClass' }),
  },
  { checkedFirst: ['selector'] },
);

const persistentVolumeClaimTemplate = struct('api.core.v1.PersistentVolumeClaimTemplate', 'What a claim made for a pod looks like.', {
  metadata: always(1, objectMeta, 'Labels and annotations of the claim.'),
  spec: req(2, persistentVolumeClaimSpec, 'Spec of the claim.', { presence: 'always' }),
});

export const ephemeralVolumeSource = struct('api.core.v1.EphemeralVolumeSource', 'A volume that is made for the pod and removed with it.', {
  volumeClaimTemplate: ptr(1, persistentVolumeClaimTemplate, 'Claim that is made for the pod and owned by it.'),
});
