import { documentedEnum, type Infer, inline, list, map, opt, ptr, quantity, string, struct } from '../../../schema/schema.ts';
import { nodeSelector } from '../node-selector.ts';
import {
  awsElasticBlockStoreVolumeSource,
  azureDiskVolumeSource,
  gcePersistentDiskVolumeSource,
  photonPersistentDiskVolumeSource,
  vsphereVirtualDiskVolumeSource,
} from '../pod/volumes/cloud-volumes.ts';
import { flockerVolumeSource, portworxVolumeSource, quobyteVolumeSource } from '../pod/volumes/driver-volumes.ts';
import { hostPathVolumeSource } from '../pod/volumes/local-volumes.ts';
import { fcVolumeSource, nfsVolumeSource } from '../pod/volumes/network-volumes.ts';
import { objectReference } from '../references.ts';
import {
  azureFilePersistentVolumeSource,
  cephFSPersistentVolumeSource,
  cinderPersistentVolumeSource,
  csiPersistentVolumeSource,
  flexPersistentVolumeSource,
  glusterfsPersistentVolumeSource,
  iscsiPersistentVolumeSource,
  localVolumeSource,
  rbdPersistentVolumeSource,
  scaleIOPersistentVolumeSource,
  storageOSPersistentVolumeSource,
} from './volume-sources.ts';

const persistentVolumeSource = struct('api.core.v1.PersistentVolumeSource', 'Where a volume is; exactly one is set.', {
  gcePersistentDisk: ptr(1, gcePersistentDiskVolumeSource, 'A persistent disk of Google Compute Engine.'),
  awsElasticBlockStore: ptr(2, awsElasticBlockStoreVolumeSource, 'A block store disk of Amazon Web Services.'),
  hostPath: ptr(3, hostPathVolumeSource, 'A file or directory of the node, for trials on a single one.'),
  glusterfs: ptr(4, glusterfsPersistentVolumeSource, 'A Glusterfs volume.'),
  nfs: ptr(5, nfsVolumeSource, 'An NFS export.'),
  rbd: ptr(6, rbdPersistentVolumeSource, 'A Rados block device.'),
  iscsi: ptr(7, iscsiPersistentVolumeSource, 'An iSCSI disk.'),
  cinder: ptr(8, cinderPersistentVolumeSource, 'A Cinder volume of OpenStack.'),
  cephfs: ptr(9, cephFSPersistentVolumeSource, 'A Ceph file system.'),
  fc: ptr(10, fcVolumeSource, 'A Fibre Channel disk.'),
  flocker: ptr(11, flockerVolumeSource, 'A Flocker dataset.'),
  flexVolume: ptr(12, flexPersistentVolumeSource, 'A volume of an exec-based driver.'),
  azureFile: ptr(13, azureFilePersistentVolumeSource, 'A file share of Azure.'),
  vsphereVolume: ptr(14, vsphereVirtualDiskVolumeSource, 'A virtual disk of vSphere.'),
  quobyte: ptr(15, quobyteVolumeSource, 'A Quobyte volume.'),
  azureDisk: ptr(16, azureDiskVolumeSource, 'A data disk of Azure.'),
  photonPersistentDisk: ptr(17, photonPersistentDiskVolumeSource, 'A persistent disk of Photon Controller.'),
  portworxVolume: ptr(18, portworxVolumeSource, 'A Portworx volume.'),
  scaleIO: ptr(19, scaleIOPersistentVolumeSource, 'A ScaleIO volume.'),
  local: ptr(20, localVolumeSource, 'A directory or device of one node.'),
  storageos: ptr(21, storageOSPersistentVolumeSource, 'A StorageOS volume.'),
  csi: ptr(22, csiPersistentVolumeSource, 'A volume of a container storage interface driver.'),
});

export type SourceName = keyof typeof persistentVolumeSource.fields;

/** In the order in which they count: an error is at the second. */
export const sourceNames: readonly SourceName[] = [
  ...(['hostPath', 'gcePersistentDisk', 'awsElasticBlockStore', 'glusterfs', 'flocker', 'nfs', 'rbd', 'quobyte', 'cephfs', 'iscsi', 'cinder', 'fc'] as const),
  ...(['flexVolume', 'azureFile', 'vsphereVolume', 'photonPersistentDisk', 'portworxVolume', 'azureDisk', 'scaleIO', 'local', 'storageos', 'csi'] as const),
];

const volumeNodeAffinity = struct('api.core.v1.VolumeNodeAffinity', 'Which nodes can use a volume.', {
  required: ptr(1, nodeSelector, 'What a node must meet.'),
});

export const persistentVolumeSpec = struct(
  'api.core.v1.PersistentVolumeSpec',
  'Where a volume is, how large it is, and how it is used.',
  {
    capacity: opt(1, map(quantity()), 'How large the volume is.'),
    ...inline(2, persistentVolumeSource),
    accessModes: opt(3, list(documentedEnum('ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod')), 'Ways in which the volume can be mounted.'),
    claimRef: ptr(4, objectReference, 'The claim that the volume is bound to.', { structType: 'granular' }),
    persistentVolumeReclaimPolicy: opt(5, documentedEnum('Delete', 'Recycle', 'Retain'), 'What becomes of the volume after its claim: `Retain`, `Delete` or `Recycle`.'),
    storageClassName: opt(6, string(), 'Storage class of the volume; none where it is empty.'),
    mountOptions: opt(7, list(string()), 'Options with which the volume is mounted; nobody checks them before.'),
    volumeMode: ptr(8, documentedEnum('Block', 'Filesystem'), 'Whether the volume is a file system or a block device.'),
    nodeAffinity: ptr(9, volumeNodeAffinity, 'Which nodes can use the volume.'),
    volumeAttributesClassName: ptr(10, string(), 'Volume attributes class of the volume.', { gate: 'VolumeAttributesClass' }),
  },
  {
    checkedFirst: ['accessModes', 'capacity', 'persistentVolumeReclaimPolicy', 'nodeAffinity', ...sourceNames],
    union: { fields: sourceNames, shownAs: { cephfs: 'cephFS' }, title: 'volume' },
  },
);

export type PersistentVolumeSpec = Infer<typeof persistentVolumeSpec>;
