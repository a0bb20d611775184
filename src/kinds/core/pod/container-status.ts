import {
  boolean,
  type Infer,
  int32,
  int64,
  list,
  map,
  optional,
  quantity,
  string,
  struct,
  time,
} from '../../../schema/schema.ts';
import { resourceRequirements } from './container-resources.ts';

const containerStateWaiting = struct('api.core.v1.ContainerStateWaiting', 'Why a container is not running yet.', {
  reason: optional(1, string(), 'One word that says why.'),
  message: optional(2, string(), 'A sentence that says why.'),
});

const containerStateRunning = struct('api.core.v1.ContainerStateRunning', 'A running container.', {
  startedAt: optional(1, time(), 'When the container was last started.', { presence: 'always' }),
});

const containerStateTerminated = struct('api.core.v1.ContainerStateTerminated', 'How a container ended.', {
  exitCode: optional(1, int32(), 'Exit code of the container.', { presence: 'always' }),
  signal: optional(2, int32(), 'Signal that ended the container.'),
  reason: optional(3, string(), 'One word that says why the container ended.'),
  message: optional(4, string(), 'A sentence about the end of the container.'),
  startedAt: optional(5, time(), 'When the container had started.', { presence: 'always' }),
  finishedAt: optional(6, time(), 'When the container ended.', { presence: 'always' }),
  containerID: optional(7, string(), 'Id of the container, as `<runtime>://<id>`.'),
});

const containerState = struct(
  'api.core.v1.ContainerState',
  'State of a container; at most one is set, and none means waiting.',
  {
    waiting: optional(1, containerStateWaiting, 'The container is not running yet.', { presence: 'explicit' }),
    running: optional(2, containerStateRunning, 'The container is running.', { presence: 'explicit' }),
    terminated: optional(3, containerStateTerminated, 'The container has ended.', { presence: 'explicit' }),
  },
);

const volumeMountStatus = struct('api.core.v1.VolumeMountStatus', 'How a volume is mounted in a container.', {
  name: optional(1, string(), "Name of the mount, as in the container's `volumeMounts`.", { presence: 'always' }),
  mountPath: optional(2, string(), 'Path in the container.', { presence: 'always' }),
  readOnly: optional(3, boolean(), 'Whether the mount is read-only.'),
  recursiveReadOnly: optional(4, string(), 'Whether mounts below this one are read-only too.', {
    presence: 'explicit',
  }),
});

const linuxContainerUser = struct(
  'api.core.v1.LinuxContainerUser',
  'User and groups of the first process of a Linux container.',
  {
    uid: optional(1, int64(), 'User id.', { presence: 'always' }),
    gid: optional(2, int64(), 'Group id.', { presence: 'always' }),
    supplementalGroups: optional(3, list(int64()), 'Further group ids.'),
  },
);

const containerUser = struct('api.core.v1.ContainerUser', 'User that a container runs as.', {
  linux: optional(1, linuxContainerUser, 'User and groups on Linux.', { presence: 'explicit' }),
});

const resourceHealth = struct('api.core.v1.ResourceHealth', 'Health of one unit of a resource.', {
  resourceID: optional(1, string(), 'Id of the unit, unique for its resource.', { presence: 'always' }),
  health: optional(2, string(), '`Healthy`, `Unhealthy` or `Unknown`.'),
});

const resourceStatus = struct(
  'api.core.v1.ResourceStatus',
  'Health of the units of one resource that a container was given.',
  {
    name: optional(1, string(), 'Name of the resource.', { presence: 'always' }),
    resources: optional(
      2,
      list(resourceHealth, { listType: 'map', mapKeys: ['resourceID'], duplicatesAllowed: true }),
      'Health of each unit.',
    ),
  },
);

export const containerStatus = struct('api.core.v1.ContainerStatus', 'What was last observed of a container.', {
  name: optional(1, string(), 'Name of the container.', { presence: 'always' }),
  state: optional(2, containerState, 'State that the container is in.', { presence: 'always' }),
  lastState: optional(3, containerState, 'State in which the container last ended, if it was restarted.', {
    presence: 'always',
  }),
  ready: optional(4, boolean(), 'Whether the container passes its readiness check.', { presence: 'always' }),
  restartCount: optional(5, int32(), 'How often the container was restarted.', { presence: 'always' }),
  image: optional(6, string(), 'Image that the container runs.', { presence: 'always' }),
  imageID: optional(7, string(), 'Id of the image that the container runs.', { presence: 'always' }),
  containerID: optional(8, string(), 'Id of the container, as `<runtime>://<id>`.'),
  started: optional(9, boolean(), 'Whether the container has passed its startup check.', { presence: 'explicit' }),
  allocatedResources: optional(10, map(quantity()), 'Resources that the node has set aside for the container.'),
  resources: optional(11, resourceRequirements, 'Requests and limits that are in force for the running container.', {
    presence: 'explicit',
  }),
  volumeMounts: optional(
    12,
    list(volumeMountStatus, { patchStrategy: 'merge', patchMergeKey: 'mountPath', duplicatesAllowed: true }),
    'How volumes are mounted in the container.',
  ),
  user: optional(13, containerUser, 'User and groups that the first process of the container started with.', {
    presence: 'explicit',
  }),
  allocatedResourcesStatus: optional(
    14,
    list(resourceStatus, { patchStrategy: 'merge', patchMergeKey: 'name', duplicatesAllowed: true }),
    'Health of resources that the container was given.',
  ),
});

export type ContainerStatus = Infer<typeof containerStatus>;
