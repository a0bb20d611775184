import { always, bool, enumOf, int32, opt, ptr, req, string, struct } from '../../../../schema/schema.ts';
import { localObjectReference } from '../../references.ts';

/** What an error says of a partition that is no number of one. 0 is none. */
export const partitionRange = 'must be between 1 and 255, inclusive';

export const gcePersistentDiskVolumeSource = struct('api.core.v1.GCEPersistentDiskVolumeSource', 'A persistent disk of Google Compute Engine.', {
  pdName: always(1, string(), 'Name of the disk.'),
  fsType: opt(2, string(), 'File system of the volume.'),
  partition: opt(3, int32(), 'Number of the partition; 0 stands for the whole disk.'),
  readOnly: opt(4, bool(), 'Mount without permission to write.'),
});

export const awsElasticBlockStoreVolumeSource = struct('api.core.v1.AWSElasticBlockStoreVolumeSource', 'A block store disk of Amazon Web Services.', {
  volumeID: req(1, string(), 'Id of the disk.'),
  fsType: opt(2, string(), 'File system of the volume.'),
  partition: opt(3, int32({ minimum: 0, maximum: 255, rangeText: partitionRange }), 'Number of the partition; 0 stands for the whole disk.'),
  readOnly: opt(4, bool(), 'Mount without permission to write.'),
});

export const cinderVolumeSource = struct('api.core.v1.CinderVolumeSource', 'A Cinder volume of OpenStack.', {
  volumeID: req(1, string(), 'Id of the volume.'),
  fsType: opt(2, string(), 'File system of the volume.'),
  readOnly: opt(3, bool(), 'Mount without permission to write.'),
  secretRef: ptr(4, localObjectReference, 'Secret with the connection settings.'),
});

export const azureFileVolumeSource = struct('api.core.v1.AzureFileVolumeSource', 'A file share of Azure.', {
  secretName: req(1, string(), 'Secret with the name and key of the storage account.'),
  shareName: req(2, string(), 'Name of the share.'),
  readOnly: opt(3, bool(), 'Mount without permission to write.'),
});

export const azureDiskVolumeSource = struct('api.core.v1.AzureDiskVolumeSource', 'A data disk of Azure.', {
  diskName: req(1, string(), 'Name of the disk.'),
  diskURI: req(2, string(), 'Address of the disk.'),
  cachingMode: ptr(3, enumOf('None', 'ReadOnly', 'ReadWrite'), 'How the host caches the disk.', { default: 'ReadWrite' }),
  fsType: ptr(4, string(), 'File system of the volume.', { default: 'ext4' }),
  readOnly: ptr(5, bool(), 'Mount without permission to write.', { default: false }),
  kind: ptr(6, enumOf('Shared', 'Dedicated', 'Managed'), 'Whether the disk is shared with other disks of its account, dedicated, or managed.', { default: 'Shared' }),
});

export const vsphereVirtualDiskVolumeSource = struct('api.core.v1.VsphereVirtualDiskVolumeSource', 'A virtual disk of vSphere.', {
  volumePath: req(1, string(), 'Path of the disk.'),
  fsType: opt(2, string(), 'File system of the volume.'),
  storagePolicyName: opt(3, string(), 'Name of the storage policy.'),
  storagePolicyID: opt(4, string(), 'Id of the storage policy.'),
});

export const photonPersistentDiskVolumeSource = struct('api.core.v1.PhotonPersistentDiskVolumeSource', 'A persistent disk of Photon Controller.', {
  pdID: req(1, string(), 'Id of the disk.'),
  fsType: opt(2, string(), 'File system of the volume.'),
});
