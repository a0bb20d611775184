import { boolean, type Infer, optional, required, string, struct } from '../../../schema/schema.ts';

export const volumeMount = struct('api.core.v1.VolumeMount', 'Where and how a volume appears in a container.', {
  name: required(1, string(), 'Name of a volume of the pod.'),
  readOnly: optional(2, boolean(), 'Mount without permission to write.'),
  recursiveReadOnly: optional(
    7,
    string({ enum: ['Disabled', 'Enabled', 'IfPossible'] }),
    'Whether mounts below this one are read-only too.',
    { presence: 'explicit' },
  ),
  mountPath: required(3, string(), 'Path in the container; it contains no colon.'),
  subPath: optional(4, string(), 'Path in the volume to mount in place of its root.'),
  mountPropagation: optional(
    5,
    string({ enum: ['None', 'HostToContainer', 'Bidirectional'] }),
    'Which way mounts made later spread between node and container.',
    { presence: 'explicit' },
  ),
  subPathExpr: optional(
    6,
    string(),
    'Path in the volume in which `$(NAME)` stands for an environment variable; not together with `subPath`.',
  ),
});

export const volumeDevice = struct('api.core.v1.VolumeDevice', 'Where a block device appears in a container.', {
  name: required(1, string(), 'Name of a persistent volume claim volume of the pod.'),
  devicePath: required(2, string(), 'Path of the device in the container.'),
});

export type VolumeMount = Infer<typeof volumeMount>;

export type VolumeDevice = Infer<typeof volumeDevice>;
