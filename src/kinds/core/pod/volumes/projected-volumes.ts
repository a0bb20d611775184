import { always, bool, type Infer, inline, int32, int64, list, opt, ptr, req, string, struct } from '../../../../schema/schema.ts';
import { labelSelector } from '../../../meta/label-selector.ts';
import { localObjectReference } from '../../references.ts';
import { objectFieldSelector, resourceFieldSelector } from '../container/env.ts';

/** What an error says of other modes. */
export const fileModeRange = 'must be a number between 0 and 0777 (octal), both inclusive';

/** File permission bits. */
const fileMode = int32({ minimum: 0, maximum: 0o777, rangeText: fileModeRange });

const keyToPath = struct('api.core.v1.KeyToPath', 'Maps an entry of a secret or config map to a file.', {
  key: req(1, string(), 'Key of the entry.'),
  path: req(2, string(), 'Path of the file, relative and without `..`.'),
  mode: ptr(3, fileMode, 'Permission bits of the file.'),
});

export const secretVolumeSource = struct('api.core.v1.SecretVolumeSource', 'A secret whose entries become files.', {
  secretName: opt(1, string(), 'Name of the secret in the namespace of the pod.'),
  items: opt(2, list(keyToPath), 'Entries to use and their paths; all, named by their keys, where it is left out.'),
  defaultMode: ptr(3, fileMode, 'Permission bits of the files that have no mode of their own.', { default: 0o644 }),
  optional: ptr(4, bool(), 'Whether the secret or its entries may be missing.'),
});

export const configMapVolumeSource = struct('api.core.v1.ConfigMapVolumeSource', 'A config map whose entries become files.', {
  ...inline(1, localObjectReference),
  items: opt(2, list(keyToPath), 'Entries to use and their paths; all, named by their keys, where it is left out.'),
  defaultMode: ptr(3, fileMode, 'Permission bits of the files that have no mode of their own.', { default: 0o644 }),
  optional: ptr(4, bool(), 'Whether the config map or its entries may be missing.'),
});

const downwardAPIVolumeFile = struct('api.core.v1.DownwardAPIVolumeFile', 'A file that holds a field of the pod or a resource of a container.', {
  path: always(1, string(), 'Path of the file, relative and without `..`.'),
  fieldRef: ptr(2, objectFieldSelector, 'Field of the pod: its name, namespace, uid, labels or annotations.'),
  resourceFieldRef: ptr(3, resourceFieldSelector, 'Resource request or limit of a container.'),
  mode: ptr(4, int32(), 'Permission bits of the file.'),
});

export const downwardAPIVolumeSource = struct('api.core.v1.DownwardAPIVolumeSource', 'Files that hold fields of the pod.', {
  items: opt(1, list(downwardAPIVolumeFile), 'Files to make.'),
  defaultMode: ptr(2, fileMode, 'Permission bits of the files that have no mode of their own.', { default: 0o644 }),
});

const secretProjection = struct('api.core.v1.SecretProjection', 'A secret in a projected volume.', {
  ...inline(1, localObjectReference),
  items: opt(2, list(keyToPath), 'Entries to use and their paths; all, named by their keys, where it is left out.'),
  optional: ptr(4, bool(), 'Whether the secret or its entries may be missing.'),
});

const downwardAPIProjection = struct('api.core.v1.DownwardAPIProjection', 'Fields of the pod in a projected volume.', {
  items: opt(1, list(downwardAPIVolumeFile), 'Files to make.'),
});

const configMapProjection = struct('api.core.v1.ConfigMapProjection', 'A config map in a projected volume.', {
  ...inline(1, localObjectReference),
  items: opt(2, list(keyToPath), 'Entries to use and their paths; all, named by their keys, where it is left out.'),
  optional: ptr(4, bool(), 'Whether the config map or its entries may be missing.'),
});

const serviceAccountTokenProjection = struct('api.core.v1.ServiceAccountTokenProjection', "A token of the pod's service account in a file that is renewed before it expires.", {
  audience: opt(1, string(), 'Whom the token is for; the API server where it is not set.'),
  expirationSeconds: ptr(2, int64(), 'How long a token is valid, at least 600 seconds.', { default: 3600 }),
  path: always(3, string(), 'Path of the file, relative to the root of the volume.'),
});

const clusterTrustBundleProjection = struct('api.core.v1.ClusterTrustBundleProjection', 'Certificates of one trust bundle, or of all of a signer that a selector picks, in one file.', {
  name: ptr(1, string(), 'Name of the one bundle; not together with `signerName`.'),
  signerName: ptr(2, string(), 'Signer whose bundles are used; not together with `name`.'),
  labelSelector: ptr(3, labelSelector, 'Picks bundles of the signer; unset picks none, an empty one all.'),
  optional: ptr(5, bool(), 'Whether the bundles may be missing.'),
  path: req(4, string(), 'Path of the file, relative to the root of the volume.'),
});

const volumeProjection = struct('api.core.v1.VolumeProjection', 'One source of a projected volume; exactly one is set.', {
  secret: ptr(1, secretProjection, 'Entries of a secret.'),
  downwardAPI: ptr(2, downwardAPIProjection, 'Fields of the pod.'),
  configMap: ptr(3, configMapProjection, 'Entries of a config map.'),
  serviceAccountToken: ptr(4, serviceAccountTokenProjection, "A token of the pod's service account."),
  clusterTrustBundle: ptr(5, clusterTrustBundleProjection, 'Certificates of trust bundles.', { gate: 'ClusterTrustBundleProjection' }),
});

export const projectedVolumeSource = struct('api.core.v1.ProjectedVolumeSource', 'Several sources that share one directory.', {
  sources: always(1, list(volumeProjection), 'Sources of the files.', { documented: 'optional' }),
  defaultMode: ptr(2, fileMode, 'Permission bits of the files that have no mode of their own.', { default: 0o644 }),
});

export type ProjectedVolumeSource = Infer<typeof projectedVolumeSource>;
