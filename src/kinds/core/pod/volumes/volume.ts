import { type Infer, inline, ptr, req, string, struct } from '../../../../schema/schema.ts';
import { ephemeralVolumeSource, persistentVolumeClaimVolumeSource } from './claim-volumes.ts';
import {
  awsElasticBlockStoreVolumeSource,
  azureDiskVolumeSource,
  azureFileVolumeSource,
  cinderVolumeSource,
  gcePersistentDiskVolumeSource,
  photonPersistentDiskVolumeSource,
  vsphereVirtualDiskVolumeSource,
} from './cloud-volumes.ts';
import { csiVolumeSource, flexVolumeSource, flockerVolumeSource, portworxVolumeSource, quobyteVolumeSource, scaleIOVolumeSource, storageOSVolumeSource } from './driver-volumes.ts';
import { emptyDirVolumeSource, gitRepoVolumeSource, hostPathVolumeSource, imageVolumeSource } from './local-volumes.ts';
import { cephFSVolumeSource, fcVolumeSource, glusterfsVolumeSource, iscsiVolumeSource, nfsVolumeSource, rbdVolumeSource } from './network-volumes.ts';
import { configMapVolumeSource, downwardAPIVolumeSource, projectedVolumeSource, secretVolumeSource } from './projected-volumes.ts';

const volumeSource = struct('api.core.v1.VolumeSource', 'Where the content of a volume comes from; exactly one is set.', {
  hostPath: ptr(1, hostPathVolumeSource, 'A file or directory of the node.'),
  emptyDir: ptr(2, emptyDirVolumeSource, 'A directory that lives as long as the pod.'),
  gcePersistentDisk: ptr(3, gcePersistentDiskVolumeSource, 'A persistent disk of Google Compute Engine.'),
  awsElasticBlockStore: ptr(4, awsElasticBlockStoreVolumeSource, 'A block store disk of Amazon Web Services.'),
  gitRepo: ptr(5, gitRepoVolumeSource, 'A directory filled from a git repository.'),
  secret: ptr(6, secretVolumeSource, 'A secret, with a file for each entry.'),
  nfs: ptr(7, nfsVolumeSource, 'An NFS export.'),
  iscsi: ptr(8, iscsiVolumeSource, 'An iSCSI disk.'),
  glusterfs: ptr(9, glusterfsVolumeSource, 'A Glusterfs volume.'),
  persistentVolumeClaim: ptr(10, persistentVolumeClaimVolumeSource, 'A persistent volume claim of the same namespace.'),
  rbd: ptr(11, rbdVolumeSource, 'A Rados block device.'),
  flexVolume: ptr(12, flexVolumeSource, 'A volume of an exec-based driver.'),
  cinder: ptr(13, cinderVolumeSource, 'A Cinder volume of OpenStack.'),
  cephfs: ptr(14, cephFSVolumeSource, 'A Ceph file system.'),
  flocker: ptr(15, flockerVolumeSource, 'A Flocker dataset.'),
  downwardAPI: ptr(16, downwardAPIVolumeSource, 'Files with fields of the pod.'),
  fc: ptr(17, fcVolumeSource, 'A Fibre Channel disk.'),
  azureFile: ptr(18, azureFileVolumeSource, 'A file share of Azure.'),
  configMap: ptr(19, configMapVolumeSource, 'A config map, with a file for each entry.'),
  vsphereVolume: ptr(20, vsphereVirtualDiskVolumeSource, 'A virtual disk of vSphere.'),
  quobyte: ptr(21, quobyteVolumeSource, 'A Quobyte volume.'),
  azureDisk: ptr(22, azureDiskVolumeSource, 'A data disk of Azure.'),
  photonPersistentDisk: ptr(23, photonPersistentDiskVolumeSource, 'A persistent disk of Photon Controller.'),
  projected: ptr(26, projectedVolumeSource, 'Several sources in one directory.'),
  portworxVolume: ptr(24, portworxVolumeSource, 'A Portworx volume.'),
  scaleIO: ptr(25, scaleIOVolumeSource, 'A ScaleIO volume.'),
  storageos: ptr(27, storageOSVolumeSource, 'A StorageOS volume.'),
  csi: ptr(28, csiVolumeSource, 'A volume of a container storage interface driver that lives as long as the pod.'),
  ephemeral: ptr(29, ephemeralVolumeSource, 'A volume made for the pod from a claim template, and removed with it.'),
  image: ptr(30, imageVolumeSource, 'The content of an image, mounted read-only.', { gate: 'ImageVolume', whileOff: 'itemGoes' }),
});

type SourceName = keyof typeof volumeSource.fields;

/** `emptyDir` first: if a volume has two sources, the error is reported at the other one. */
const sourceNames: readonly SourceName[] = ['emptyDir', ...(Object.keys(volumeSource.fields) as SourceName[]).filter((name) => name !== 'emptyDir')];

export const volume = struct(
  'api.core.v1.Volume',
  'A named storage of a pod that its containers may mount.',
  {
    name: req(1, string({ format: 'dnsLabel' }), 'Name of the volume, unique in the pod.'),
    ...inline(2, volumeSource),
  },
  {
    checkedFirst: Object.keys(volumeSource.fields),
    union: { fields: sourceNames, shownAs: { cephfs: 'cephFS', downwardAPI: 'downwarAPI' }, none: { type: 'required', detail: 'must specify a volume type' } },
  },
);

export type Volume = Infer<typeof volume>;

/** The sources that are set in a volume; a valid volume has exactly one. */
export const volumeSources = (volume: Volume): readonly SourceName[] => sourceNames.filter((name) => volume[name] !== undefined);
