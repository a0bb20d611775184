import {
  boolean,
  type Infer,
  inline,
  int32,
  int64,
  list,
  optional,
  required,
  string,
  struct,
} from '../../../schema/schema.ts';
import { labelSelector } from '../../meta/label-selector.ts';
import { localObjectReference } from '../references.ts';
import { objectFieldSelector, resourceFieldSelector } from './env.ts';

/** Permission bits of a file. */
const fileMode = int32({ minimum: 0, maximum: 0o777 });

const keyToPath = struct('api.core.v1.KeyToPath', 'Maps an entry of a secret or config map to a file.', {
  key: required(1, string(), 'Key of the entry.'),
  path: required(2, string(), 'Path of the file, relative and without `..`.'),
  mode: optional(3, fileMode, 'Permission bits of the file.', { presence: 'explicit' }),
});

export const secretVolumeSource = struct('api.core.v1.SecretVolumeSource', 'A secret whose entries become files.', {
  secretName: optional(1, string(), 'Name of the secret in the namespace of the pod.'),
  items: optional(
    2,
    list(keyToPath),
    'Entries to use and their paths; all, named by their keys, where it is left out.',
  ),
  defaultMode: optional(3, fileMode, 'Permission bits of the files that have no mode of their own.', {
    presence: 'explicit',
    default: 0o644,
  }),
  optional: optional(4, boolean(), 'Whether the secret or its entries may be missing.', { presence: 'explicit' }),
});

export const configMapVolumeSource = struct(
  'api.core.v1.ConfigMapVolumeSource',
  'A config map whose entries become files.',
  {
    ...inline(1, localObjectReference),
    items: optional(
      2,
      list(keyToPath),
      'Entries to use and their paths; all, named by their keys, where it is left out.',
    ),
    defaultMode: optional(3, fileMode, 'Permission bits of the files that have no mode of their own.', {
      presence: 'explicit',
      default: 0o644,
    }),
    optional: optional(4, boolean(), 'Whether the config map or its entries may be missing.', { presence: 'explicit' }),
  },
);

const downwardAPIVolumeFile = struct(
  'api.core.v1.DownwardAPIVolumeFile',
  'A file that holds a field of the pod or a resource of a container.',
  {
    path: required(1, string(), 'Path of the file, relative and without `..`.'),
    fieldRef: optional(2, objectFieldSelector, 'Field of the pod: its name, namespace, uid, labels or annotations.', {
      presence: 'explicit',
    }),
    resourceFieldRef: optional(3, resourceFieldSelector, 'Resource request or limit of a container.', {
      presence: 'explicit',
    }),
    mode: optional(4, fileMode, 'Permission bits of the file.', { presence: 'explicit' }),
  },
);

export const downwardAPIVolumeSource = struct(
  'api.core.v1.DownwardAPIVolumeSource',
  'Files that hold fields of the pod.',
  {
    items: optional(1, list(downwardAPIVolumeFile), 'Files to make.'),
    defaultMode: optional(2, fileMode, 'Permission bits of the files that have no mode of their own.', {
      presence: 'explicit',
      default: 0o644,
    }),
  },
);

const secretProjection = struct('api.core.v1.SecretProjection', 'A secret in a projected volume.', {
  ...inline(1, localObjectReference),
  items: optional(
    2,
    list(keyToPath),
    'Entries to use and their paths; all, named by their keys, where it is left out.',
  ),
  optional: optional(4, boolean(), 'Whether the secret or its entries may be missing.', { presence: 'explicit' }),
});

const downwardAPIProjection = struct('api.core.v1.DownwardAPIProjection', 'Fields of the pod in a projected volume.', {
  items: optional(1, list(downwardAPIVolumeFile), 'Files to make.'),
});

const configMapProjection = struct('api.core.v1.ConfigMapProjection', 'A config map in a projected volume.', {
  ...inline(1, localObjectReference),
  items: optional(
    2,
    list(keyToPath),
    'Entries to use and their paths; all, named by their keys, where it is left out.',
  ),
  optional: optional(4, boolean(), 'Whether the config map or its entries may be missing.', { presence: 'explicit' }),
});

const serviceAccountTokenProjection = struct(
  'api.core.v1.ServiceAccountTokenProjection',
  "A token of the pod's service account in a file that is renewed before it expires.",
  {
    audience: optional(1, string(), 'Whom the token is for; the API server where it is not set.'),
    expirationSeconds: optional(2, int64(), 'How long a token is valid, at least 600 seconds.', {
      presence: 'explicit',
      default: 3600,
    }),
    path: required(3, string(), 'Path of the file, relative to the root of the volume.'),
  },
);

const clusterTrustBundleProjection = struct(
  'api.core.v1.ClusterTrustBundleProjection',
  'Certificates of one trust bundle, or of all of a signer that a selector picks, in one file.',
  {
    name: optional(1, string(), 'Name of the one bundle; not together with `signerName`.', { presence: 'explicit' }),
    signerName: optional(2, string(), 'Signer whose bundles are used; not together with `name`.', {
      presence: 'explicit',
    }),
    labelSelector: optional(3, labelSelector, 'Picks bundles of the signer; unset picks none, an empty one all.', {
      presence: 'explicit',
    }),
    optional: optional(5, boolean(), 'Whether the bundles may be missing.', { presence: 'explicit' }),
    path: required(4, string(), 'Path of the file, relative to the root of the volume.'),
  },
);

const volumeProjection = struct(
  'api.core.v1.VolumeProjection',
  'One source of a projected volume; exactly one is set.',
  {
    secret: optional(1, secretProjection, 'Entries of a secret.', { presence: 'explicit' }),
    downwardAPI: optional(2, downwardAPIProjection, 'Fields of the pod.', { presence: 'explicit' }),
    configMap: optional(3, configMapProjection, 'Entries of a config map.', { presence: 'explicit' }),
    serviceAccountToken: optional(4, serviceAccountTokenProjection, "A token of the pod's service account.", {
      presence: 'explicit',
    }),
    clusterTrustBundle: optional(5, clusterTrustBundleProjection, 'Certificates of trust bundles.', {
      presence: 'explicit',
    }),
  },
  {
    union: {
      fields: ['secret', 'downwardAPI', 'configMap', 'serviceAccountToken', 'clusterTrustBundle'],
      several: { type: 'forbidden', detail: 'may not specify more than 1 volume type per source' },
    },
  },
);

export const projectedVolumeSource = struct(
  'api.core.v1.ProjectedVolumeSource',
  'Several sources that share one directory.',
  {
    sources: optional(1, list(volumeProjection), 'Sources of the files.', { presence: 'explicit' }),
    defaultMode: optional(2, fileMode, 'Permission bits of the files that have no mode of their own.', {
      presence: 'explicit',
      default: 0o644,
    }),
  },
);

export type ProjectedVolumeSource = Infer<typeof projectedVolumeSource>;
