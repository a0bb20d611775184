import { boolean, map, optional, required, string, struct } from '../../../schema/schema.ts';
import { localObjectReference } from '../references.ts';

export const csiVolumeSource = struct(
  'api.core.v1.CSIVolumeSource',
  'A volume of a container storage interface driver that lives as long as the pod.',
  {
    driver: required(1, string(), 'Name of the driver.'),
    readOnly: optional(2, boolean(), 'Mount without permission to write.', { presence: 'explicit' }),
    fsType: optional(3, string(), 'File system of the volume; the driver chooses where it is not set.', {
      presence: 'explicit',
    }),
    volumeAttributes: optional(4, map(string()), 'Settings that the driver understands.'),
    nodePublishSecretRef: optional(
      5,
      localObjectReference,
      'Secret that is handed to the driver when the volume is published on the node.',
      { presence: 'explicit' },
    ),
  },
);

export const flexVolumeSource = struct('api.core.v1.FlexVolumeSource', 'A volume of an exec-based driver.', {
  driver: required(1, string(), 'Name of the driver.'),
  fsType: optional(2, string(), 'File system of the volume.'),
  secretRef: optional(3, localObjectReference, 'Secret that is handed to the driver.', { presence: 'explicit' }),
  readOnly: optional(4, boolean(), 'Mount without permission to write.'),
  options: optional(5, map(string()), 'Settings that the driver understands.'),
});

export const flockerVolumeSource = struct('api.core.v1.FlockerVolumeSource', 'A Flocker dataset.', {
  datasetName: optional(1, string(), 'Name of the dataset, as its metadata has it.'),
  datasetUUID: optional(2, string(), 'Unique id of the dataset.'),
});

export const quobyteVolumeSource = struct('api.core.v1.QuobyteVolumeSource', 'A Quobyte volume.', {
  registry: required(1, string(), 'Addresses of the registry services, each as host and port.'),
  volume: required(2, string(), 'Name of the volume.'),
  readOnly: optional(3, boolean(), 'Mount without permission to write.'),
  user: optional(4, string(), 'User that owns the mounted files.'),
  group: optional(5, string(), 'Group that owns the mounted files.'),
  tenant: optional(6, string(), 'Tenant that the volume belongs to.'),
});

export const portworxVolumeSource = struct('api.core.v1.PortworxVolumeSource', 'A Portworx volume.', {
  volumeID: required(1, string(), 'Id of the volume.'),
  fsType: optional(2, string(), 'File system of the volume.'),
  readOnly: optional(3, boolean(), 'Mount without permission to write.'),
});

export const scaleIOVolumeSource = struct('api.core.v1.ScaleIOVolumeSource', 'A ScaleIO volume.', {
  gateway: required(1, string(), 'Address of the gateway.'),
  system: required(2, string(), 'Name of the storage system.'),
  secretRef: required(3, localObjectReference, 'Secret with the credentials.'),
  sslEnabled: optional(4, boolean(), 'Use TLS to talk to the gateway.'),
  protectionDomain: optional(5, string(), 'Name of the protection domain.'),
  storagePool: optional(6, string(), 'Name of the storage pool.'),
  storageMode: optional(7, string(), 'Whether the storage is thick or thin.', { default: 'ThinProvisioned' }),
  volumeName: optional(8, string(), 'Name of the volume in the storage system.'),
  fsType: optional(9, string(), 'File system of the volume.', { default: 'xfs' }),
  readOnly: optional(10, boolean(), 'Mount without permission to write.'),
});

export const storageOSVolumeSource = struct('api.core.v1.StorageOSVolumeSource', 'A StorageOS volume.', {
  volumeName: optional(1, string(), 'Name of the volume.'),
  volumeNamespace: optional(
    2,
    string(),
    'Namespace of the volume in the storage system; that of the pod where it is not set.',
  ),
  fsType: optional(3, string(), 'File system of the volume.'),
  readOnly: optional(4, boolean(), 'Mount without permission to write.'),
  secretRef: optional(5, localObjectReference, 'Secret with the credentials.', { presence: 'explicit' }),
});
