import { type Infer, inline, optional, required, string, struct } from '../../../schema/schema.ts';
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
import {
  csiVolumeSource,
  flexVolumeSource,
  flockerVolumeSource,
  portworxVolumeSource,
  quobyteVolumeSource,
  scaleIOVolumeSource,
  storageOSVolumeSource,
} from './driver-volumes.ts';
import { emptyDirVolumeSource, gitRepoVolumeSource, hostPathVolumeSource, imageVolumeSource } from './local-volumes.ts';
import {
  cephFSVolumeSource,
  fcVolumeSource,
  glusterfsVolumeSource,
  iscsiVolumeSource,
  nfsVolumeSource,
  rbdVolumeSource,
} from './network-volumes.ts';
import {
  configMapVolumeSource,
  downwardAPIVolumeSource,
  projectedVolumeSource,
  secretVolumeSource,
} from './projected-volumes.ts';

const volumeSource = struct(
  'api.core.v1.VolumeSource',
  'Where the content of a volume comes from; exactly one is set.',
  {
    hostPath: optional(1, hostPathVolumeSource, 'A file or directory of the node.', { presence: 'explicit' }),
    emptyDir: optional(2, emptyDirVolumeSource, 'A directory that lives as long as the pod.', { presence: 'explicit' }),
    gcePersistentDisk: optional(3, gcePersistentDiskVolumeSource, 'A persistent disk of Google Compute Engine.', {
      presence: 'explicit',
    }),
    awsElasticBlockStore: optional(4, awsElasticBlockStoreVolumeSource, 'A block store disk of Amazon Web Services.', {
      presence: 'explicit',
    }),
    gitRepo: optional(5, gitRepoVolumeSource, 'A directory filled from a git repository.', { presence: 'explicit' }),
    secret: optional(6, secretVolumeSource, 'A secret, with a file for each entry.', { presence: 'explicit' }),
    nfs: optional(7, nfsVolumeSource, 'An NFS export.', { presence: 'explicit' }),
    iscsi: optional(8, iscsiVolumeSource, 'An iSCSI disk.', { presence: 'explicit' }),
    glusterfs: optional(9, glusterfsVolumeSource, 'A Glusterfs volume.', { presence: 'explicit' }),
    persistentVolumeClaim: optional(
      10,
      persistentVolumeClaimVolumeSource,
      'A persistent volume claim of the same namespace.',
      { presence: 'explicit' },
    ),
    rbd: optional(11, rbdVolumeSource, 'A Rados block device.', { presence: 'explicit' }),
    flexVolume: optional(12, flexVolumeSource, 'A volume of an exec-based driver.', { presence: 'explicit' }),
    cinder: optional(13, cinderVolumeSource, 'A Cinder volume of OpenStack.', { presence: 'explicit' }),
    cephfs: optional(14, cephFSVolumeSource, 'A Ceph file system.', { presence: 'explicit' }),
    flocker: optional(15, flockerVolumeSource, 'A Flocker dataset.', { presence: 'explicit' }),
    downwardAPI: optional(16, downwardAPIVolumeSource, 'Files with fields of the pod.', { presence: 'explicit' }),
    fc: optional(17, fcVolumeSource, 'A Fibre Channel disk.', { presence: 'explicit' }),
    azureFile: optional(18, azureFileVolumeSource, 'A file share of Azure.', { presence: 'explicit' }),
    configMap: optional(19, configMapVolumeSource, 'A config map, with a file for each entry.', {
      presence: 'explicit',
    }),
    vsphereVolume: optional(20, vsphereVirtualDiskVolumeSource, 'A virtual disk of vSphere.', { presence: 'explicit' }),
    quobyte: optional(21, quobyteVolumeSource, 'A Quobyte volume.', { presence: 'explicit' }),
    azureDisk: optional(22, azureDiskVolumeSource, 'A data disk of Azure.', { presence: 'explicit' }),
    photonPersistentDisk: optional(23, photonPersistentDiskVolumeSource, 'A persistent disk of Photon Controller.', {
      presence: 'explicit',
    }),
    projected: optional(26, projectedVolumeSource, 'Several sources in one directory.', { presence: 'explicit' }),
    portworxVolume: optional(24, portworxVolumeSource, 'A Portworx volume.', { presence: 'explicit' }),
    scaleIO: optional(25, scaleIOVolumeSource, 'A ScaleIO volume.', { presence: 'explicit' }),
    storageos: optional(27, storageOSVolumeSource, 'A StorageOS volume.', { presence: 'explicit' }),
    csi: optional(
      28,
      csiVolumeSource,
      'A volume of a container storage interface driver that lives as long as the pod.',
      { presence: 'explicit' },
    ),
    ephemeral: optional(
      29,
      ephemeralVolumeSource,
      'A volume made for the pod from a claim template, and removed with it.',
      { presence: 'explicit' },
    ),
    image: optional(30, imageVolumeSource, 'The content of an image, mounted read-only.', { presence: 'explicit' }),
  },
);

type SourceName = keyof typeof volumeSource.fields;

/** `emptyDir` comes first: of two sources the other one is the mistake. */
const sourceNames: readonly SourceName[] = [
  'emptyDir',
  ...(Object.keys(volumeSource.fields) as SourceName[]).filter((name) => name !== 'emptyDir'),
];

export const volume = struct(
  'api.core.v1.Volume',
  'A named storage of a pod that its containers may mount.',
  {
    name: required(1, string({ format: 'dnsLabel' }), 'Name of the volume, unique in the pod.'),
    ...inline(2, volumeSource),
  },
  { union: { fields: sourceNames, none: { type: 'required', detail: 'must specify a volume type' } } },
);

export type Volume = Infer<typeof volume>;

/** The sources that a volume has; a valid volume has one. */
export const volumeSources = (volume: Volume): readonly SourceName[] =>
  sourceNames.filter((name) => volume[name] !== undefined);
