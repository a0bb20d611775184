import { always, bool, type Field, map, opt, ptr, req, string, struct } from '../../../schema/schema.ts';
import { azureFileVolumeSource, cinderVolumeSource } from '../pod/volumes/cloud-volumes.ts';
import { flexVolumeSource, scaleIOVolumeSource, storageOSVolumeSource } from '../pod/volumes/driver-volumes.ts';
import { cephFSVolumeSource, glusterfsVolumeSource, iscsiVolumeSource, rbdVolumeSource } from '../pod/volumes/network-volumes.ts';
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

/** A field of a pod's volume, for a secret that may be in any namespace. */
const anywhere = <F extends Field>(field: F) => ({ ...field, schema: secretReference });

export const azureFilePersistentVolumeSource = struct('api.core.v1.AzureFilePersistentVolumeSource', 'A file share of Azure.', {
  ...azureFileVolumeSource.fields,
  secretNamespace: ptr(4, string(), 'Namespace of the secret; that of the pod where it is left out.'),
});

export const cephFSPersistentVolumeSource = struct('api.core.v1.CephFSPersistentVolumeSource', 'A Ceph file system.', {
  ...cephFSVolumeSource.fields,
  secretRef: anywhere(cephFSVolumeSource.fields.secretRef),
});

export const cinderPersistentVolumeSource = struct('api.core.v1.CinderPersistentVolumeSource', 'A Cinder volume of OpenStack.', {
  ...cinderVolumeSource.fields,
  secretRef: anywhere(cinderVolumeSource.fields.secretRef),
});

export const csiPersistentVolumeSource = struct('api.core.v1.CSIPersistentVolumeSource', 'A volume of a container storage interface driver.', {
  driver: always(1, string(), 'Name of the driver.'),
  volumeHandle: always(2, string(), 'What the driver calls the volume.'),
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
  ...flexVolumeSource.fields,
  secretRef: anywhere(flexVolumeSource.fields.secretRef),
});

export const glusterfsPersistentVolumeSource = struct('api.core.v1.GlusterfsPersistentVolumeSource', 'A Glusterfs volume.', {
  ...glusterfsVolumeSource.fields,
  endpointsNamespace: ptr(4, string(), 'Namespace of the endpoints object; that of the claim where it is left out.'),
});

export const iscsiPersistentVolumeSource = struct('api.core.v1.ISCSIPersistentVolumeSource', 'An iSCSI disk.', {
  ...iscsiVolumeSource.fields,
  secretRef: anywhere(iscsiVolumeSource.fields.secretRef),
});

export const localVolumeSource = struct('api.core.v1.LocalVolumeSource', 'A directory or device of one node.', {
  path: req(1, string(), 'Path on the node.'),
  fsType: ptr(2, string(), 'File system of the volume.'),
});

export const rbdPersistentVolumeSource = struct('api.core.v1.RBDPersistentVolumeSource', 'A Rados block device.', {
  ...rbdVolumeSource.fields,
  secretRef: anywhere(rbdVolumeSource.fields.secretRef),
});

export const scaleIOPersistentVolumeSource = struct('api.core.v1.ScaleIOPersistentVolumeSource', 'A ScaleIO volume.', {
  ...scaleIOVolumeSource.fields,
  secretRef: ptr(3, secretReference, 'Secret with the credentials.', { documented: 'required' }),
});

export const storageOSPersistentVolumeSource = struct('api.core.v1.StorageOSPersistentVolumeSource', 'A StorageOS volume.', {
  ...storageOSVolumeSource.fields,
  secretRef: ptr(5, objectReference, 'Secret with the credentials.'),
});
