import { nodeFields } from '../../dialect/node-fields.ts';
import { always, bool, documentedEnum, int32, int64, list, map, mergeList, opt, ptr, quantity, string, struct, time } from '../../schema/schema.ts';
import { nodeConfigSource } from './node-config-source.ts';

const nodeCondition = struct('api.core.v1.NodeCondition', 'One aspect of the state of a node.', {
  type: always(1, string(), 'Name of the aspect, such as `Ready`.'),
  status: always(2, string(), '`True`, `False` or `Unknown`.'),
  lastHeartbeatTime: always(3, time(), 'When the node last said so.'),
  lastTransitionTime: always(4, time(), 'When the status last changed.'),
  reason: opt(5, string(), 'Machine-readable reason of the last change.'),
  message: opt(6, string(), 'The reason in words.'),
});

export const nodeAddress = struct('api.core.v1.NodeAddress', 'An address of a node.', {
  type: always(1, string(), '`Hostname`, `InternalIP`, `ExternalIP`, `InternalDNS` or `ExternalDNS`.'),
  address: always(2, string(), 'The address.'),
});

const daemonEndpoint = struct('api.core.v1.DaemonEndpoint', 'Where a daemon listens.', {
  Port: always(1, int32(), 'Number of the port.'),
});

const nodeDaemonEndpoints = struct('api.core.v1.NodeDaemonEndpoints', 'Where the daemons of a node listen.', {
  [nodeFields.agentEndpoint]: always(1, daemonEndpoint, 'Where the node agent listens.'),
});

const nodeSystemInfo = struct('api.core.v1.NodeSystemInfo', 'What a node runs on.', {
  machineID: always(1, string(), 'Identity of the machine, as its operating system says.'),
  systemUUID: always(2, string(), 'Identity of the machine, as its firmware says.'),
  bootID: always(3, string(), 'Identity of the last start of the machine.'),
  kernelVersion: always(4, string(), 'Version of the kernel.'),
  osImage: always(5, string(), 'Name of the operating system image.'),
  containerRuntimeVersion: always(6, string(), 'Name and version of the container runtime.'),
  [nodeFields.agentVersion]: always(7, string(), 'Version of the node agent.'),
  [nodeFields.proxyVersion]: always(8, string(), 'No longer filled in.', { deprecated: true }),
  operatingSystem: always(9, string(), 'Name of the operating system.'),
  architecture: always(10, string(), 'Architecture of the processor.'),
});

const containerImage = struct('api.core.v1.ContainerImage', 'A container image that a node has.', {
  names: opt(1, list(string()), 'Names by which the image is known.'),
  sizeBytes: opt(2, int64(), 'Size of the image in bytes.'),
});

const attachedVolume = struct('api.core.v1.AttachedVolume', 'A volume that is attached to a node.', {
  name: always(1, string(), 'Name of the volume.'),
  devicePath: always(2, string(), 'Device by which the node reaches the volume.'),
});

const nodeConfigStatus = struct('api.core.v1.NodeConfigStatus', 'Which configuration a node agent uses; no longer used.', {
  assigned: ptr(1, nodeConfigSource, 'The configuration that the agent is to use.'),
  active: ptr(2, nodeConfigSource, 'The configuration that the agent uses.'),
  lastKnownGood: ptr(3, nodeConfigSource, 'The configuration that the agent falls back to.'),
  error: opt(4, string(), 'What went wrong with the assigned configuration.'),
});

const nodeRuntimeHandlerFeatures = struct('api.core.v1.NodeRuntimeHandlerFeatures', 'What a runtime handler can do.', {
  recursiveReadOnlyMounts: ptr(1, bool(), 'It can make mounts read-only with all below them.'),
  userNamespaces: ptr(2, bool(), 'It supports user namespaces, also for volumes.'),
});

const nodeRuntimeHandler = struct('api.core.v1.NodeRuntimeHandler', 'A way to run containers on a node.', {
  name: always(1, string(), 'Name of the handler; empty for the default one.', { documented: 'optional' }),
  features: ptr(2, nodeRuntimeHandlerFeatures, 'What it can do.'),
});

const nodeFeatures = struct('api.core.v1.NodeFeatures', 'What the container runtime of a node can do.', {
  supplementalGroupsPolicy: ptr(1, bool(), 'It supports the policy of pods for supplemental groups, and reports the user of containers.'),
});

export const nodeStatus = struct('api.core.v1.NodeStatus', 'The state of a node.', {
  capacity: opt(1, map(quantity()), 'All resources of the node.'),
  allocatable: opt(2, map(quantity()), 'Resources of the node that pods can have; the capacity unless set.'),
  phase: opt(3, documentedEnum('Pending', 'Running', 'Terminated'), 'No longer filled in.', { deprecated: true }),
  conditions: opt(4, mergeList('type', nodeCondition, { duplicatesAllowed: true }), 'What is known about the state of the node.'),
  addresses: opt(5, mergeList('type', nodeAddress, { duplicatesAllowed: true }), 'Addresses by which the node is reached; several may be of one type.'),
  daemonEndpoints: always(6, nodeDaemonEndpoints, 'Where the daemons of the node listen.'),
  nodeInfo: always(7, nodeSystemInfo, 'What the node runs on.'),
  images: opt(8, list(containerImage), 'Container images that the node has.'),
  volumesInUse: opt(9, list(string()), 'Volumes that the node has mounted.'),
  volumesAttached: opt(10, list(attachedVolume), 'Volumes that are attached to the node.'),
  config: ptr(11, nodeConfigStatus, 'Which configuration the node agent uses; no longer used.', { deprecated: true }),
  runtimeHandlers: opt(12, list(nodeRuntimeHandler), 'Ways to run containers on the node.'),
  features: ptr(13, nodeFeatures, 'What the container runtime of the node can do.', { gate: 'SupplementalGroupsPolicy' }),
});
