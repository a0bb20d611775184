import { boolean, list, map, optional, quantity, required, string, struct } from '../../../schema/schema.ts';
import { labelSelector } from '../../meta/label-selector.ts';
import { objectMeta } from '../../meta/object-meta.ts';
import { typedLocalObjectReference, typedObjectReference } from '../references.ts';

export const persistentVolumeClaimVolumeSource = struct(
  'api.core.v1.PersistentVolumeClaimVolumeSource',
  'A persistent volume claim of the same namespace.',
  {
    claimName: required(1, string(), 'Name of the claim.'),
    readOnly: optional(2, boolean(), 'Mount without permission to write.'),
  },
);

const volumeResourceRequirements = struct(
  'api.core.v1.VolumeResourceRequirements',
  'Storage that is asked for and allowed.',
  {
    limits: optional(1, map(quantity()), 'Most storage of each kind.'),
    requests: optional(2, map(quantity()), 'Least storage of each kind.'),
  },
);

const persistentVolumeClaimSpec = struct('api.core.v1.PersistentVolumeClaimSpec', 'What storage a claim asks for.', {
  accessModes: optional(
    1,
    list(string({ enum: ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'] })),
    'Ways in which the volume must be mountable.',
  ),
  selector: optional(4, labelSelector, 'Selects volumes by their labels.', { presence: 'explicit' }),
  resources: optional(2, volumeResourceRequirements, 'Least and most storage of the volume.', { presence: 'always' }),
  volumeName: optional(3, string(), 'Name of the persistent volume that the claim is bound to.'),
  storageClassName: optional(5, string(), 'Storage class that the claim requires.', { presence: 'explicit' }),
  volumeMode: optional(
    6,
    string({ enum: ['Block', 'Filesystem'] }),
    'Whether the volume is a file system or a block device.',
    { presence: 'explicit', default: 'Filesystem' },
  ),
  dataSource: optional(7, typedLocalObjectReference, 'Snapshot or claim that the volume is filled from.', {
    presence: 'explicit',
  }),
  dataSourceRef: optional(
    8,
    typedObjectReference,
    'Object that the volume is filled from, of any kind and namespace.',
    { presence: 'explicit' },
  ),
  volumeAttributesClassName: optional(9, string(), 'Volume attributes class that the claim uses.', {
    presence: 'explicit',
  }),
});

const persistentVolumeClaimTemplate = struct(
  'api.core.v1.PersistentVolumeClaimTemplate',
  'What a claim made for a pod looks like.',
  {
    metadata: optional(1, objectMeta, 'Labels and annotations of the claim.', { presence: 'always' }),
    spec: required(2, persistentVolumeClaimSpec, 'Spec of the claim.', { presence: 'always' }),
  },
);

export const ephemeralVolumeSource = struct(
  'api.core.v1.EphemeralVolumeSource',
  'A volume that is made for the pod and removed with it.',
  {
    volumeClaimTemplate: optional(1, persistentVolumeClaimTemplate, 'Claim that is made for the pod and owned by it.', {
      presence: 'explicit',
    }),
  },
);
