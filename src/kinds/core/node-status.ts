import { nodeFields } from '../../dialect/node-fields.ts';
import { boolean, int32, int64, list, map, optional, quantity, string, struct, time } from '../../schema/schema.ts';
import { nodeConfigSource } from './node-config-source.ts';

const always = { presence: 'always' } as const;
const explicit = { presence: 'explicit' } as const;

const nodeCondition = struct('api.core.v1.NodeCondition', 'One aspect of the state of a node.', {
  type: optional(1, string(), 'Name of the aspect, such as `Ready`.', always),
  status: optional(2, string(), '`True`, `False` or `Unknown`.', always),
  lastHeartbeatTime: optional(3, time(), 'When the node last said so.', always),
  lastTransitionTime: optional(4, time(), 'When the status last changed.', always),
  reason: optional(5, string(), 'Machine-readable reason of the last change.'),
  message: optional(6, string(), 'The reason in words.'),
});

const nodeAddress = struct('api.core.v1.NodeAddress', 'An address of a node.', {
  type: optional(1, string(), '`Hostname`, `InternalIP`, `ExternalIP`, `InternalDNS` or `ExternalDNS`.', always),
  address: optional(2, string(), 'The address.', always),
});

const daemonEndpoint = struct('api.core.v1.DaemonEndpoint', 'Where a daemon listens.', {
  Port: optional(1, int32(), 'Number of the port.', always),
});

const nodeDaemonEndpoints = struct('api.core.v1.NodeDaemonEndpoints', 'Where the daemons of a node listen.', {
  [nodeFields.agentEndpoint]: optional(1, daemonEndpoint, 'Where the node agent listens.', always),
});

const nodeSystemInfo = struct('api.core.v1.NodeSystemInfo', 'What a node runs on.', {
  machineID: optional(1, string(), 'Identity of the machine, as its operating system says.', always),
  systemUUID: optional(2, string(), 'Identity of the machine, as its firmware says.', always),
  bootID: optional(3, string(), 'Identity of the last start of the machine.', always),
  kernelVersion: optional(4, string(), 'Version of the kernel.', always),
  osImage: optional(5, string(), 'Name of the operating system image.', always),
  containerRuntimeVersion: optional(6, string(), 'Name and version of the container runtime.', always),
  [nodeFields.agentVersion]: optional(7, string(), 'Version of the node agent.', always),
  [nodeFields.proxyVersion]: optional(8, string(), 'No longer filled in.', { presence: 'always', deprecated: true }),
  operatingSystem: optional(9, string(), 'Name of the operating system.', always),
  architecture: optional(10, string(), 'Architecture of the processor.', always),
});

const containerImage = struct('api.core.v1.ContainerImage', 'A container image that a node has.', {
  names: optional(1, list(string()), 'Names by which the image is known.'),
  sizeBytes: optional(2, int64(), 'Size of the image in bytes.'),
});

const attachedVolume = struct('api.core.v1.AttachedVolume', 'A volume that is attached to a node.', {
  name: optional(1, string(), 'Name of the volume.', always),
  devicePath: optional(2, string(), 'Device by which the node reaches the volume.', always),
});

const nodeConfigStatus = struct(
  'api.core.v1.NodeConfigStatus',
  'Which configuration a node agent uses; no longer used.',
  {
    assigned: optional(1, nodeConfigSource, 'The configuration that the agent is to use.', explicit),
    active: optional(2, nodeConfigSource, 'The configuration that the agent uses.', explicit),
    lastKnownGood: optional(3, nodeConfigSource, 'The configuration that the agent falls back to.', explicit),
    error: optional(4, string(), 'What went wrong with the assigned configuration.'),
  },
);

const nodeRuntimeHandlerFeatures = struct('api.core.v1.NodeRuntimeHandlerFeatures', 'What a runtime handler can do.', {
  recursiveReadOnlyMounts: optional(1, boolean(), 'It can make mounts read-only with all below them.', explicit),
  userNamespaces: optional(2, boolean(), 'It supports user namespaces, also for volumes.', explicit),
});

const nodeRuntimeHandler = struct('api.core.v1.NodeRuntimeHandler', 'A way to run containers on a node.', {
  name: optional(1, string(), 'Name of the handler; empty for the default one.', always),
  features: optional(2, nodeRuntimeHandlerFeatures, 'What it can do.', explicit),
});

const nodeFeatures = struct('api.core.v1.NodeFeatures', 'What the container runtime of a node can do.', {
  supplementalGroupsPolicy: optional(
    1,
    boolean(),
    'It supports the policy of pods for supplemental groups, and reports the user of containers.',
    explicit,
  ),
});

export const nodeStatus = struct('api.core.v1.NodeStatus', 'The state of a node.', {
  capacity: optional(1, map(quantity()), 'All resources of the node.'),
  allocatable: optional(2, map(quantity()), 'Resources of the node that pods can have; the capacity unless set.'),
  phase: optional(3, string(), 'No longer filled in.', { deprecated: true }),
  conditions: optional(
    4,
    list(nodeCondition, { patchStrategy: 'merge', patchMergeKey: 'type', duplicatesAllowed: true }),
    'What is known about the state of the node.',
  ),
  addresses: optional(
    5,
    list(nodeAddress, { patchStrategy: 'merge', patchMergeKey: 'type', duplicatesAllowed: true }),
    'Addresses by which the node is reached; several may be of one type.',
  ),
  daemonEndpoints: optional(6, nodeDaemonEndpoints, 'Where the daemons of the node listen.', always),
  nodeInfo: optional(7, nodeSystemInfo, 'What the node runs on.', always),
  images: optional(8, list(containerImage), 'Container images that the node has.'),
  volumesInUse: optional(9, list(string()), 'Volumes that the node has mounted.'),
  volumesAttached: optional(10, list(attachedVolume), 'Volumes that are attached to the node.'),
  config: optional(11, nodeConfigStatus, 'Which configuration the node agent uses; no longer used.', {
    presence: 'explicit',
    deprecated: true,
  }),
  runtimeHandlers: optional(12, list(nodeRuntimeHandler), 'Ways to run containers on the node.'),
  features: optional(13, nodeFeatures, 'What the container runtime of the node can do.', explicit),
});
