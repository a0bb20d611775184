import { always, documentedEnum, type Infer, list, mergeList, opt, ptr, string, struct, time } from '../../../schema/schema.ts';
import { containerStatus } from './container/container-status.ts';

const podCondition = struct('api.core.v1.PodCondition', 'One aspect of a pod that is true, false or unknown.', {
  type: always(1, string(), 'Name of the condition.'),
  status: always(2, string(), '`True`, `False` or `Unknown`.'),
  lastProbeTime: always(3, time(), 'When the condition was last checked.'),
  lastTransitionTime: always(4, time(), 'When the status last changed.'),
  reason: opt(5, string(), 'One word that says why.'),
  message: opt(6, string(), 'A sentence that says why.'),
});

const hostIP = struct('api.core.v1.HostIP', 'An address of a node.', {
  ip: always(1, string(), 'The IP address.'),
});

const podIP = struct('api.core.v1.PodIP', 'An address of a pod.', {
  ip: always(1, string(), 'The IP address.'),
});

const podResourceClaimStatus = struct('api.core.v1.PodResourceClaimStatus', "The claim that was made for an entry of the pod's `resourceClaims`.", {
  name: always(1, string(), 'Name of the entry.'),
  resourceClaimName: ptr(2, string(), 'Name of the claim that was made; unset if none was needed.'),
});

export const podStatus = struct('api.core.v1.PodStatus', 'What was last observed of a pod.', {
  phase: opt(1, documentedEnum('Failed', 'Pending', 'Running', 'Succeeded', 'Unknown'), 'Where the pod is in its life: `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.'),
  conditions: opt(2, mergeList('type', podCondition, { duplicatesAllowed: true }), 'Conditions of the pod, each with its last change.'),
  message: opt(3, string(), 'Explains to people why the pod is in its state.'),
  reason: opt(4, string(), 'Explains in one word why the pod is in its state, such as `Evicted`.'),
  nominatedNodeName: opt(11, string({ format: 'dnsSubdomain' }), 'Node on which room is being made for the pod by pushing out others.'),
  hostIP: opt(5, string(), 'Address of the node that the pod is assigned to.'),
  hostIPs: opt(16, mergeList('ip', hostIP, { listType: 'atomic', unique: { by: ['ip'], at: 'element' } }), 'Addresses of the node, of which the first is `hostIP`.'),
  podIP: opt(6, string(), 'Address of the pod.'),
  podIPs: opt(12, mergeList('ip', podIP, { unique: { by: ['ip'], at: 'element' } }), 'Addresses of the pod, at most one of each family; the first is `podIP`.'),
  startTime: ptr(7, time(), 'When the node agent took up the pod.'),
  initContainerStatuses: opt(10, list(containerStatus), 'States of the init containers.'),
  containerStatuses: opt(8, list(containerStatus), 'States of the main containers.'),
  qosClass: opt(9, documentedEnum('BestEffort', 'Burstable', 'Guaranteed'), 'Class of service, which follows from the resources of the containers.', { immutable: 'always' }),
  ephemeralContainerStatuses: opt(13, list(containerStatus), 'States of the ephemeral containers.'),
  resize: opt(14, string(), 'How far a change of the resources of the containers has got.', { gate: 'InPlacePodVerticalScaling' }),
  resourceClaimStatuses: opt(15, list(podResourceClaimStatus, { patchStrategy: 'merge,retainKeys', patchMergeKey: 'name' }), 'Resource claims that were made for the pod.', {
    gate: 'DynamicResourceAllocation',
  }),
});

export type PodStatus = Infer<typeof podStatus>;

export type PodCondition = Infer<typeof podCondition>;
