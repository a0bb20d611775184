import { always, bool, documentedEnum, type Infer, opt, ptr, string, struct } from '../../../../schema/schema.ts';

export const volumeMount = struct('api.core.v1.VolumeMount', 'Where and how a volume appears in a container.', {
  name: always(1, string(), 'Name of a volume of the pod.', { refersTo: 'api.core.v1.Volume' }),
  readOnly: opt(2, bool(), 'Mount without permission to write.'),
  recursiveReadOnly: ptr(7, string(), 'Whether mounts below this one are read-only too.'),
  mountPath: always(3, string(), 'Path in the container; it contains no colon.'),
  subPath: opt(4, string(), 'Path in the volume to mount in place of its root.'),
  mountPropagation: ptr(5, documentedEnum('None', 'HostToContainer', 'Bidirectional'), 'Which way mounts made later spread between node and container.'),
  subPathExpr: opt(6, string(), 'Path in the volume in which `$(NAME)` stands for an environment variable; not together with `subPath`.'),
});

export const volumeDevice = struct('api.core.v1.VolumeDevice', 'Where a block device appears in a container.', {
  name: always(1, string(), 'Name of a persistent volume claim volume of the pod.'),
  devicePath: always(2, string(), 'Path of the device in the container.'),
});

export type VolumeMount = Infer<typeof volumeMount>;

export type VolumeDevice = Infer<typeof volumeDevice>;
