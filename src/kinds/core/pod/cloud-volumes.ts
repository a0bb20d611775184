import { boolean, int32, optional, required, string, struct } from '../../../schema/schema.ts';
import { localObjectReference } from '../references.ts';

export const gcePersistentDiskVolumeSource = struct(
  'api.core.v1.GCEPersistentDiskVolumeSource',
  'A persistent disk of Google Compute Engine.',
  {
    pdName: required(1, string(), 'Name of the disk.'),
    fsType: optional(2, string(), 'File system of the volume.'),
    partition: optional(
      3,
      int32({ minimum: 0, maximum: 255 }),
      'Number of the partition; 0 stands for the whole disk.',
    ),
    readOnly: optional(4, boolean(), 'Mount without permission to write.'),
  },
);

export const awsElasticBlockStoreVolumeSource = struct(
  'api.core.v1.AWSElasticBlockStoreVolumeSource',
  'A block store disk of Amazon Web Services.',
  {
    volumeID: required(1, string(), 'Id of the disk.'),
    fsType: optional(2, string(), 'File system of the volume.'),
    partition: optional(
      3,
      int32({ minimum: 0, maximum: 255 }),
      'Number of the partition; 0 stands for the whole disk.',
    ),
    readOnly: optional(4, boolean(), 'Mount without permission to write.'),
  },
);

export const cinderVolumeSource = struct('api.core.v1.CinderVolumeSource', 'A Cinder volume of OpenStack.', {
  volumeID: required(1, string(), 'Id of the volume.'),
  fsType: optional(2, string(), 'File system of the volume.'),
  readOnly: optional(3, boolean(), 'Mount without permission to write.'),
  secretRef: optional(4, localObjectReference, 'Secret with the connection settings.', { presence: 'explicit' }),
});

export const azureFileVolumeSource = struct('api.core.v1.AzureFileVolumeSource', 'A file share of Azure.', {
  secretName: required(1, string(), 'Secret with the name and key of the storage account.'),
  shareName: required(2, string(), 'Name of the share.'),
  readOnly: optional(3, boolean(), 'Mount without permission to write.'),
});

export const azureDiskVolumeSource = struct('api.core.v1.AzureDiskVolumeSource', 'A data disk of Azure.', {
  diskName: required(1, string(), 'Name of the disk.'),
  diskURI: required(2, string(), 'Address of the disk.'),
  cachingMode: optional(3, string({ enum: ['None', 'ReadOnly', 'ReadWrite'] }), 'How the host caches the disk.', {
    presence: 'explicit',
    default: 'ReadWrite',
  }),
  fsType: optional(4, string(), 'File system of the volume.', { presence: 'explicit', default: 'ext4' }),
  readOnly: optional(5, boolean(), 'Mount without permission to write.', { presence: 'explicit', default: false }),
  kind: optional(
    6,
    string({ enum: ['Shared', 'Dedicated', 'Managed'] }),
    'Whether the disk is shared with other disks of its account, dedicated, or managed.',
    { presence: 'explicit', default: 'Shared' },
  ),
});

export const vsphereVirtualDiskVolumeSource = struct(
  'api.core.v1.VsphereVirtualDiskVolumeSource',
  'A virtual disk of vSphere.',
  {
    volumePath: required(1, string(), 'Path of the disk.'),
    fsType: optional(2, string(), 'File system of the volume.'),
    storagePolicyName: optional(3, string(), 'Name of the storage policy.'),
    storagePolicyID: optional(4, string(), 'Id of the storage policy.'),
  },
);

export const photonPersistentDiskVolumeSource = struct(
  'api.core.v1.PhotonPersistentDiskVolumeSource',
  'A persistent disk of Photon Controller.',
  {
    pdID: required(1, string(), 'Id of the disk.'),
    fsType: optional(2, string(), 'File system of the volume.'),
  },
);
