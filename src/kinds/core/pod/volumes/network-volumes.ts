import { always, bool, int32, list, opt, ptr, req, string, struct } from '../../../../schema/schema.ts';
import { localObjectReference } from '../../references.ts';

export const nfsVolumeSource = struct('api.core.v1.NFSVolumeSource', 'An NFS export.', {
  server: req(1, string(), 'Host name or address of the server.'),
  path: req(2, string(), 'Path that the server exports.'),
  readOnly: opt(3, bool(), 'Mount without permission to write.'),
});

export const iscsiVolumeSource = struct('api.core.v1.ISCSIVolumeSource', 'An iSCSI disk.', {
  targetPortal: req(1, string(), 'Address of the target, with a port if it is not 3260.'),
  iqn: req(2, string(), 'Qualified name of the target.'),
  lun: always(3, int32({ minimum: 0, maximum: 255 }), 'Number of the logical unit, from 0 to 255.'),
  iscsiInterface: opt(4, string(), 'Name of the interface that carries the traffic.', { default: 'default' }),
  fsType: opt(5, string(), 'File system of the volume.'),
  readOnly: opt(6, bool(), 'Mount without permission to write.'),
  portals: opt(7, list(string()), 'Further addresses of the target.'),
  chapAuthDiscovery: opt(8, bool(), 'Authenticate discovery with CHAP.'),
  chapAuthSession: opt(11, bool(), 'Authenticate sessions with CHAP.'),
  secretRef: ptr(10, localObjectReference, 'Secret with the CHAP credentials.', { requiredWith: { fields: ['chapAuthDiscovery', 'chapAuthSession'] } }),
  initiatorName: ptr(12, string(), 'Name that the initiator goes by.'),
});

export const glusterfsVolumeSource = struct('api.core.v1.GlusterfsVolumeSource', 'A Glusterfs volume.', {
  endpoints: req(1, string(), 'Name of the endpoints object that lists the servers.'),
  path: req(2, string(), 'Path of the volume.'),
  readOnly: opt(3, bool(), 'Mount without permission to write.'),
});

export const rbdVolumeSource = struct('api.core.v1.RBDVolumeSource', 'A Rados block device.', {
  monitors: req(1, list(string(), { itemsMin: 1 }), 'Addresses of the Ceph monitors.'),
  image: req(2, string(), 'Name of the image.'),
  fsType: opt(3, string(), 'File system of the volume.'),
  pool: opt(4, string(), 'Name of the pool.', { default: 'rbd' }),
  user: opt(5, string(), 'Name of the Rados user.', { default: 'admin' }),
  keyring: opt(6, string(), "Path of the user's key ring.", { default: '/etc/ceph/keyring' }),
  secretRef: ptr(7, localObjectReference, "Secret with the user's key; it wins over the key ring."),
  readOnly: opt(8, bool(), 'Mount without permission to write.'),
});

export const cephFSVolumeSource = struct('api.core.v1.CephFSVolumeSource', 'A Ceph file system.', {
  monitors: req(1, list(string(), { itemsMin: 1 }), 'Addresses of the Ceph monitors.'),
  path: opt(2, string(), 'Directory to mount in place of the root.'),
  user: opt(3, string(), 'Name of the Rados user.'),
  secretFile: opt(4, string(), "Path of the user's key ring."),
  secretRef: ptr(5, localObjectReference, "Secret with the user's key; it wins over the file."),
  readOnly: opt(6, bool(), 'Mount without permission to write.'),
});

export const fcVolumeSource = struct('api.core.v1.FCVolumeSource', 'A Fibre Channel disk.', {
  targetWWNs: opt(1, list(string()), 'World-wide names of the targets.'),
  lun: ptr(2, int32({ minimum: 0, maximum: 255 }), 'Number of the logical unit.', { requiredWith: { fields: ['targetWWNs'], detail: 'lun is required if targetWWNs is specified' } }),
  fsType: opt(3, string(), 'File system of the volume.'),
  readOnly: opt(4, bool(), 'Mount without permission to write.'),
  wwids: opt(5, list(string()), 'World-wide identifiers of the volume; in place of targets and logical unit.'),
});
