import { type Infer, list, optional, string, struct, time } from '../../../schema/schema.ts';
import { containerStatus } from './container-status.ts';

export const podCondition = struct('api.core.v1.PodCondition', 'One aspect of a pod that is true, false or unknown.', {
  type: optional(1, string(), 'Name of the condition.', { presence: 'always' }),
  status: optional(2, string(), '`True`, `False` or `Unknown`.', { presence: 'always' }),
  lastProbeTime: optional(3, time(), 'When the condition was last checked.', { presence: 'always' }),
  lastTransitionTime: optional(4, time(), 'When the status last changed.', { presence: 'always' }),
  reason: optional(5, string(), 'One word that says why.'),
  message: optional(6, string(), 'A sentence that says why.'),
});

const hostIP = struct('api.core.v1.HostIP', 'An address of a node.', {
  ip: optional(1, string(), 'The IP address.', { presence: 'always' }),
});

const podIP = struct('api.core.v1.PodIP', 'An address of a pod.', {
  ip: optional(1, string(), 'The IP address.', { presence: 'always' }),
});

const podResourceClaimStatus = struct(
  'api.core.v1.PodResourceClaimStatus',
  "The claim that was made for an entry of the pod's `resourceClaims`.",
  {
    name: optional(1, string(), 'Name of the entry.', { presence: 'always' }),
    resourceClaimName: optional(2, string(), 'Name of the claim that was made; unset if none was needed.', {
      presence: 'explicit',
    }),
  },
);

export const podStatus = struct('api.core.v1.PodStatus', 'What was last observed of a pod.', {
  phase: optional(
    1,
    string(),
    'Where the pod is in its life: `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.',
  ),
  conditions: optional(
    2,
    list(podCondition, { patchStrategy: 'merge', patchMergeKey: 'type', duplicatesAllowed: true }),
    'Conditions of the pod, each with its last change.',
  ),
  message: optional(3, string(), 'Explains to people why the pod is in its state.'),
  reason: optional(4, string(), 'Explains in one word why the pod is in its state, such as `Evicted`.'),
  nominatedNodeName: optional(
    11,
    string({ format: 'dnsSubdomain' }),
    'Node on which room is being made for the pod by pushing out others.',
  ),
  hostIP: optional(5, string(), 'Address of the node that the pod is assigned to.'),
  hostIPs: optional(
    16,
    list(hostIP, {
      patchStrategy: 'merge',
      patchMergeKey: 'ip',
      listType: 'atomic',
      unique: { by: ['ip'], at: 'element' },
    }),
    'Addresses of the node, of which the first is `hostIP`.',
  ),
  podIP: optional(6, string(), 'Address of the pod.'),
  podIPs: optional(
    12,
    list(podIP, { patchStrategy: 'merge', patchMergeKey: 'ip', unique: { by: ['ip'], at: 'element' } }),
    'Addresses of the pod, at most one of each family; the first is `podIP`.',
  ),
  startTime: optional(7, time(), 'When the node agent took up the pod.', { presence: 'explicit' }),
  initContainerStatuses: optional(10, list(containerStatus), 'States of the init containers.'),
  containerStatuses: optional(8, list(containerStatus), 'States of the main containers.'),
  qosClass: optional(9, string(), 'Class of service, which follows from the resources of the containers.', {
    immutable: 'always',
  }),
  ephemeralContainerStatuses: optional(13, list(containerStatus), 'States of the ephemeral containers.'),
  resize: optional(14, string(), 'How far a change of the resources of the containers has got.'),
  resourceClaimStatuses: optional(
    15,
    list(podResourceClaimStatus, { patchStrategy: 'merge,retainKeys', patchMergeKey: 'name' }),
    'Resource claims that were made for the pod.',
  ),
});

export type PodStatus = Infer<typeof podStatus>;

export type PodCondition = Infer<typeof podCondition>;
