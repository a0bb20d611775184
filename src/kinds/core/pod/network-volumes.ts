import { boolean, int32, list, optional, required, string, struct } from '../../../schema/schema.ts';
import { localObjectReference } from '../references.ts';

export const nfsVolumeSource = struct('api.core.v1.NFSVolumeSource', 'An NFS export.', {
  server: required(1, string(), 'Host name or address of the server.'),
  path: required(2, string(), 'Path that the server exports.'),
  readOnly: optional(3, boolean(), 'Mount without permission to write.'),
});

export const iscsiVolumeSource = struct('api.core.v1.ISCSIVolumeSource', 'An iSCSI disk.', {
  targetPortal: required(1, string(), 'Address of the target, with a port if it is not 3260.'),
  iqn: required(2, string(), 'Qualified name of the target.'),
  lun: optional(3, int32({ minimum: 0, maximum: 255 }), 'Number of the logical unit, from 0 to 255.', {
    presence: 'always',
  }),
  iscsiInterface: optional(4, string(), 'Name of the interface that carries the traffic.', { default: 'default' }),
  fsType: optional(5, string(), 'File system of the volume.'),
  readOnly: optional(6, boolean(), 'Mount without permission to write.'),
  portals: optional(7, list(string()), 'Further addresses of the target.'),
  chapAuthDiscovery: optional(8, boolean(), 'Authenticate discovery with CHAP.'),
  chapAuthSession: optional(11, boolean(), 'Authenticate sessions with CHAP.'),
  secretRef: optional(10, localObjectReference, 'Secret with the CHAP credentials.', {
    presence: 'explicit',
    requiredWith: { fields: ['chapAuthDiscovery', 'chapAuthSession'] },
  }),
  initiatorName: optional(12, string(), 'Name that the initiator goes by.', { presence: 'explicit' }),
});

export const glusterfsVolumeSource = struct('api.core.v1.GlusterfsVolumeSource', 'A Glusterfs volume.', {
  endpoints: required(1, string(), 'Name of the endpoints object that lists the servers.'),
  path: required(2, string(), 'Path of the volume.'),
  readOnly: optional(3, boolean(), 'Mount without permission to write.'),
});

export const rbdVolumeSource = struct('api.core.v1.RBDVolumeSource', 'A Rados block device.', {
  monitors: required(1, list(string(), { itemsMin: 1 }), 'Addresses of the Ceph monitors.'),
  image: required(2, string(), 'Name of the image.'),
  fsType: optional(3, string(), 'File system of the volume.'),
  pool: optional(4, string(), 'Name of the pool.', { default: 'rbd' }),
  user: optional(5, string(), 'Name of the Rados user.', { default: 'admin' }),
  keyring: optional(6, string(), "Path of the user's key ring.", { default: '/etc/ceph/keyring' }),
  secretRef: optional(7, localObjectReference, "Secret with the user's key; it wins over the key ring.", {
    presence: 'explicit',
  }),
  readOnly: optional(8, boolean(), 'Mount without permission to write.'),
});

export const cephFSVolumeSource = struct('api.core.v1.CephFSVolumeSource', 'A Ceph file system.', {
  monitors: required(1, list(string(), { itemsMin: 1 }), 'Addresses of the Ceph monitors.'),
  path: optional(2, string(), 'Directory to mount in place of the root.'),
  user: optional(3, string(), 'Name of the Rados user.'),
  secretFile: optional(4, string(), "Path of the user's key ring."),
  secretRef: optional(5, localObjectReference, "Secret with the user's key; it wins over the file.", {
    presence: 'explicit',
  }),
  readOnly: optional(6, boolean(), 'Mount without permission to write.'),
});

export const fcVolumeSource = struct('api.core.v1.FCVolumeSource', 'A Fibre Channel disk.', {
  targetWWNs: optional(1, list(string()), 'World-wide names of the targets.'),
  lun: optional(2, int32({ minimum: 0, maximum: 255 }), 'Number of the logical unit.', {
    presence: 'explicit',
    requiredWith: { fields: ['targetWWNs'], detail: 'lun is required if targetWWNs is specified' },
  }),
  fsType: optional(3, string(), 'File system of the volume.'),
  readOnly: optional(4, boolean(), 'Mount without permission to write.'),
  wwids: optional(5, list(string()), 'World-wide identifiers of the volume; in place of targets and logical unit.'),
});
