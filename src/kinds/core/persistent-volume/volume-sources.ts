import { always, bool, int32, list, map, opt, ptr, req, string, struct } from '../../../schema/schema.ts';
import { objectReference } from '../references.ts';

/** Sources of volumes that differ from those of pods: their secrets may be in any namespace. */

const secretReference = struct(
  'api.core.v1.SecretReference',
  'Points at a secret in any namespace.',
  {
    name: opt(1, string(), 'Name of the secret.'),
    namespace: opt(2, string(), 'Namespace of the secret.'),
  },
  { structType: 'atomic' },
);

export const azureFilePersistentVolumeSource = struct('api.core.v1.AzureFilePersistentVolumeSource', 'A file share of Azure.', {
  secretName: req(1, string(), 'Secret with the name and key of the storage account.'),
  shareName: req(2, string(), 'Name of the share.'),
  readOnly: opt(3, bool(), 'Mount without permission to write.'),
  secretNamespace: ptr(4, string(), 'Namespace of the secret; that of the pod where it is left out.'),
});

export const cephFSPersistentVolumeSource = struct('api.core.v1.CephFSPersistentVolumeSource', 'A Ceph file system.', {
  monitors: req(1, list(string(), { itemsMin: 1 }), 'Addresses of the Ceph monitors.'),
  path: opt(2, string(), 'Directory to mount in place of the root.'),
  user: opt(3, string(), 'Name of the Rados user.'),
  secretFile: opt(4, string(), "Path of the user's key ring."),
  secretRef: ptr(5, secretReference, "Secret with the user's key; it wins over the file."),
  readOnly: opt(6, bool(), 'Mount without permission to write.'),
});

export const cinderPersistentVolumeSource = struct('api.core.v1.CinderPersistentVolumeSource', 'A Cinder volume of OpenStack.', {
  volumeID: req(1, string(), 'Id of the volume.'),
  fsType: opt(2, string(), 'File system of the volume.'),
  readOnly: opt(3, bool(), 'Mount without permission to write.'),
  secretRef: ptr(4, secretReference, 'Secret with the connection settings.'),
});

export const csiPersistentVolumeSource = struct('api.core.v1.CSIPersistentVolumeSource', 'A volume of a container storage interface driver.', {
  driver: always(1, string(), 'Name of the driver.'),
  volumeHandle: req(2, string(), 'What the driver calls the volume.'),
  readOnly: opt(3, bool(), 'Mount without permission to write.'),
  fsType: opt(4, string(), 'File system of the volume.'),
  volumeAttributes: opt(5, map(string()), 'Settings that the driver understands.'),
  controllerPublishSecretRef: ptr(6, secretReference, 'Secret that is handed to the driver when the volume is attached or detached.'),
  nodeStageSecretRef: ptr(7, secretReference, 'Secret that is handed to the driver when the volume is staged on a node.'),
  nodePublishSecretRef: ptr(8, secretReference, 'Secret that is handed to the driver when the volume is mounted for a pod.'),
  controllerExpandSecretRef: ptr(9, secretReference, 'Secret that is handed to the driver when the volume is made larger.'),
  nodeExpandSecretRef: ptr(10, secretReference, 'Secret that is handed to the driver when the volume is made larger on a node.'),
});

export const flexPersistentVolumeSource = struct('api.core.v1.FlexPersistentVolumeSource', 'A volume of an exec-based driver.', {
  driver: req(1, string(), 'Name of the driver.'),
  fsType: opt(2, string(), 'File system of the volume.'),
  secretRef: ptr(3, secretReference, 'Secret that is handed to the driver.'),
  readOnly: opt(4, bool(), 'Mount without permission to write.'),
  options: opt(5, map(string()), 'Settings that the driver understands.'),
});

export const glusterfsPersistentVolumeSource = struct('api.core.v1.GlusterfsPersistentVolumeSource', 'A Glusterfs volume.', {
  endpoints: req(1, string(), 'Name of the endpoints object that lists the servers.'),
  path: req(2, string(), 'Path of the volume.'),
  readOnly: opt(3, bool(), 'Mount without permission to write.'),
  endpointsNamespace: ptr(4, string(), 'Namespace of the endpoints object; that of the claim where it is left out.'),
});

export const iscsiPersistentVolumeSource = struct('api.core.v1.ISCSIPersistentVolumeSource', 'An iSCSI disk.', {
  targetPortal: req(1, string(), 'Address of the target, with a port if it is not 3260.'),
  iqn: req(2, string(), 'Qualified name of the target.'),
  lun: always(3, int32({ minimum: 0, maximum: 255 }), 'Number of the logical unit, from 0 to 255.'),
  iscsiInterface: opt(4, string(), 'Name of the interface that carries the traffic.', { default: 'default' }),
  fsType: opt(5, string(), 'File system of the volume.'),
  readOnly: opt(6, bool(), 'Mount without permission to write.'),
  portals: opt(7, list(string()), 'Further addresses of the target.'),
  chapAuthDiscovery: opt(8, bool(), 'Authenticate discovery with CHAP.'),
  chapAuthSession: opt(11, bool(), 'Authenticate sessions with CHAP.'),
  secretRef: ptr(10, secretReference, 'Secret with the CHAP credentials.', { requiredWith: { fields: ['chapAuthDiscovery', 'chapAuthSession'] } }),
  initiatorName: ptr(12, string(), 'Name that the initiator goes by.'),
});

export const localVolumeSource = struct('api.core.v1.LocalVolumeSource', 'A directory or device of one node.', {
  path: req(1, string(), 'Path on the node.'),
  fsType: ptr(2, string(), 'File system of the volume.'),
});

export const rbdPersistentVolumeSource = struct('api.core.v1.RBDPersistentVolumeSource', 'A Rados block device.', {
  monitors: req(1, list(string(), { itemsMin: 1 }), 'Addresses of the Ceph monitors.'),
  image: req(2, string(), 'Name of the image.'),
  fsType: opt(3, string(), 'File system of the volume.'),
  pool: opt(4, string(), 'Name of the pool.', { default: 'rbd' }),
  user: opt(5, string(), 'Name of the Rados user.', { default: 'admin' }),
  keyring: opt(6, string(), "Path of the user's key ring.", { default: '/etc/ceph/keyring' }),
  secretRef: ptr(7, secretReference, "Secret with the user's key; it wins over the key ring."),
  readOnly: opt(8, bool(), 'Mount without permission to write.'),
});

export const scaleIOPersistentVolumeSource = struct('api.core.v1.ScaleIOPersistentVolumeSource', 'A ScaleIO volume.', {
  gateway: req(1, string(), 'Address of the gateway.'),
  system: req(2, string(), 'Name of the storage system.'),
  secretRef: ptr(3, secretReference, 'Secret with the credentials.', { documented: 'required' }),
  sslEnabled: opt(4, bool(), 'Use TLS to talk to the gateway.'),
  protectionDomain: opt(5, string(), 'Name of the protection domain.'),
  storagePool: opt(6, string(), 'Name of the storage pool.'),
  storageMode: opt(7, string(), 'Whether the storage is thick or thin.', { default: 'ThinProvisioned' }),
  volumeName: opt(8, string(), 'Name of the volume in the storage system.'),
  fsType: opt(9, string(), 'File system of the volume.', { default: 'xfs' }),
  readOnly: opt(10, bool(), 'Mount without permission to write.'),
});

export const storageOSPersistentVolumeSource = struct('api.core.v1.StorageOSPersistentVolumeSource', 'A StorageOS volume.', {
  volumeName: opt(1, string(), 'Name of the volume.'),
  volumeNamespace: opt(2, string(), 'Namespace of the volume in the storage system; that of the pod where it is not set.'),
  fsType: opt(3, string(), 'File system of the volume.'),
  readOnly: opt(4, bool(), 'Mount without permission to write.'),
  secretRef: ptr(5, objectReference, 'Secret with the credentials.'),
});
