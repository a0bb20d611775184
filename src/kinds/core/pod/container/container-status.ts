import { always, bool, type Infer, int32, int64, list, map, mergeList, opt, ptr, quantity, string, struct, time } from '../../../../schema/schema.ts';
import { resourceRequirements } from './container-resources.ts';

const containerStateWaiting = struct('api.core.v1.ContainerStateWaiting', 'Why a container is not running yet.', {
  reason: opt(1, string(), 'One word that says why.'),
  message: opt(2, string(), 'A sentence that says why.'),
});

const containerStateRunning = struct('api.core.v1.ContainerStateRunning', 'A running container.', {
  startedAt: always(1, time(), 'When the container was last started.'),
});

const containerStateTerminated = struct('api.core.v1.ContainerStateTerminated', 'How a container ended.', {
  exitCode: always(1, int32(), 'Exit code of the container.'),
  signal: opt(2, int32(), 'Signal that ended the container.'),
  reason: opt(3, string(), 'One word that says why the container ended.'),
  message: opt(4, string(), 'A sentence about the end of the container.'),
  startedAt: always(5, time(), 'When the container had started.'),
  finishedAt: always(6, time(), 'When the container ended.'),
  containerID: opt(7, string(), 'Id of the container, as `<runtime>://<id>`.'),
});

const containerState = struct('api.core.v1.ContainerState', 'State of a container; at most one is set, and none means waiting.', {
  waiting: ptr(1, containerStateWaiting, 'The container is not running yet.'),
  running: ptr(2, containerStateRunning, 'The container is running.'),
  terminated: ptr(3, containerStateTerminated, 'The container has ended.'),
});

const volumeMountStatus = struct('api.core.v1.VolumeMountStatus', 'How a volume is mounted in a container.', {
  name: always(1, string(), "Name of the mount, as in the container's `volumeMounts`."),
  mountPath: always(2, string(), 'Path in the container.'),
  readOnly: opt(3, bool(), 'Whether the mount is read-only.'),
  recursiveReadOnly: ptr(4, string(), 'Whether mounts below this one are read-only too.'),
});

const linuxContainerUser = struct('api.core.v1.LinuxContainerUser', 'User and groups of the first process of a Linux container.', {
  uid: always(1, int64(), 'User id.'),
  gid: always(2, int64(), 'Group id.'),
  supplementalGroups: opt(3, list(int64()), 'Further group ids.'),
});

const containerUser = struct('api.core.v1.ContainerUser', 'User that a container runs as.', {
  linux: ptr(1, linuxContainerUser, 'User and groups on Linux.'),
});

const resourceHealth = struct('api.core.v1.ResourceHealth', 'Health of one unit of a resource.', {
  resourceID: always(1, string(), 'Id of the unit, unique for its resource.'),
  health: opt(2, string(), '`Healthy`, `Unhealthy` or `Unknown`.'),
});

const resourceStatus = struct('api.core.v1.ResourceStatus', 'Health of the units of one resource that a container was given.', {
  name: always(1, string(), 'Name of the resource.'),
  resources: opt(2, list(resourceHealth, { listType: 'map', mapKeys: ['resourceID'], duplicatesAllowed: true }), 'Health of each unit.'),
});

export const containerStatus = struct('api.core.v1.ContainerStatus', 'What was last observed of a container.', {
  name: always(1, string(), 'Name of the container.'),
  state: always(2, containerState, 'State that the container is in.'),
  lastState: always(3, containerState, 'State in which the container last ended, if it was restarted.'),
  ready: always(4, bool(), 'Whether the container passes its readiness check.'),
  restartCount: always(5, int32(), 'How often the container was restarted.'),
  image: always(6, string(), 'Image that the container runs.'),
  imageID: always(7, string(), 'Id of the image that the container runs.'),
  containerID: opt(8, string(), 'Id of the container, as `<runtime>://<id>`.'),
  started: ptr(9, bool(), 'Whether the container has passed its startup check.'),
  allocatedResources: opt(10, map(quantity()), 'Resources that the node has set aside for the container.', { gate: 'InPlacePodVerticalScalingAllocatedStatus' }),
  resources: ptr(11, resourceRequirements, 'Requests and limits that are in force for the running container.', { gate: 'InPlacePodVerticalScaling' }),
  volumeMounts: opt(12, mergeList('mountPath', volumeMountStatus, { duplicatesAllowed: true }), 'How volumes are mounted in the container.'),
  user: ptr(13, containerUser, 'User and groups that the first process of the container started with.', { gate: 'SupplementalGroupsPolicy' }),
  allocatedResourcesStatus: opt(14, mergeList('name', resourceStatus, { duplicatesAllowed: true }), 'Health of resources that the container was given.', { gate: 'ResourceHealthStatus' }),
});

export type ContainerStatus = Infer<typeof containerStatus>;
