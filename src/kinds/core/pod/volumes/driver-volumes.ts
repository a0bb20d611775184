import { always, bool, map, opt, ptr, req, string, struct } from '../../../../schema/schema.ts';
import { localObjectReference } from '../../references.ts';

export const csiVolumeSource = struct('api.core.v1.CSIVolumeSource', 'A volume of a container storage interface driver that lives as long as the pod.', {
  driver: always(1, string(), 'Name of the driver.'),
  readOnly: ptr(2, bool(), 'Mount without permission to write.'),
  fsType: ptr(3, string(), 'File system of the volume; the driver chooses where it is not set.'),
  volumeAttributes: opt(4, map(string()), 'Settings that the driver understands.'),
  nodePublishSecretRef: ptr(5, localObjectReference, 'Secret that is handed to the driver when the volume is published on the node.'),
});

export const flexVolumeSource = struct('api.core.v1.FlexVolumeSource', 'A volume of an exec-based driver.', {
  driver: req(1, string(), 'Name of the driver.'),
  fsType: opt(2, string(), 'File system of the volume.'),
  secretRef: ptr(3, localObjectReference, 'Secret that is handed to the driver.'),
  readOnly: opt(4, bool(), 'Mount without permission to write.'),
  options: opt(5, map(string()), 'Settings that the driver understands.'),
});

export const flockerVolumeSource = struct('api.core.v1.FlockerVolumeSource', 'A Flocker dataset.', {
  datasetName: opt(1, string(), 'Name of the dataset, as its metadata has it.'),
  datasetUUID: opt(2, string(), 'Unique id of the dataset.'),
});

export const quobyteVolumeSource = struct('api.core.v1.QuobyteVolumeSource', 'A Quobyte volume.', {
  registry: always(1, string(), 'Addresses of the registry services, each as host and port.'),
  volume: req(2, string(), 'Name of the volume.'),
  readOnly: opt(3, bool(), 'Mount without permission to write.'),
  user: opt(4, string(), 'User that owns the mounted files.'),
  group: opt(5, string(), 'Group that owns the mounted files.'),
  tenant: opt(6, string(), 'Tenant that the volume belongs to.'),
});

export const portworxVolumeSource = struct('api.core.v1.PortworxVolumeSource', 'A Portworx volume.', {
  volumeID: req(1, string(), 'Id of the volume.'),
  fsType: opt(2, string(), 'File system of the volume.'),
  readOnly: opt(3, bool(), 'Mount without permission to write.'),
});

export const scaleIOVolumeSource = struct('api.core.v1.ScaleIOVolumeSource', 'A ScaleIO volume.', {
  gateway: req(1, string(), 'Address of the gateway.'),
  system: req(2, string(), 'Name of the storage system.'),
  secretRef: ptr(3, localObjectReference, 'Secret with the credentials.', { documented: 'required' }),
  sslEnabled: opt(4, bool(), 'Use TLS to talk to the gateway.'),
  protectionDomain: opt(5, string(), 'Name of the protection domain.'),
  storagePool: opt(6, string(), 'Name of the storage pool.'),
  storageMode: opt(7, string(), 'Whether the storage is thick or thin.', { default: 'ThinProvisioned' }),
  volumeName: opt(8, string(), 'Name of the volume in the storage system.'),
  fsType: opt(9, string(), 'File system of the volume.', { default: 'xfs' }),
  readOnly: opt(10, bool(), 'Mount without permission to write.'),
});

export const storageOSVolumeSource = struct('api.core.v1.StorageOSVolumeSource', 'A StorageOS volume.', {
  volumeName: opt(1, string(), 'Name of the volume.'),
  volumeNamespace: opt(2, string(), 'Namespace of the volume in the storage system; that of the pod where it is not set.'),
  fsType: opt(3, string(), 'File system of the volume.'),
  readOnly: opt(4, bool(), 'Mount without permission to write.'),
  secretRef: ptr(5, localObjectReference, 'Secret with the credentials.'),
});
