import { always, bool, enumInOrder, type Infer, int32, int64, list, map, mergeList, opt, ptr, quantity, req, string, struct } from '../../../schema/schema.ts';
import { localObjectReference } from '../references.ts';
import { affinity } from './affinity.ts';
import { container } from './container/container.ts';
import { resourceRequirements } from './container/container-resources.ts';
import { ephemeralContainer } from './container/ephemeral-container.ts';
import { podSecurityContext } from './container/security-context.ts';
import { hostAlias, podDNSConfig } from './dns.ts';
import { toleration } from './toleration.ts';
import { topologySpreadConstraint } from './topology-spread.ts';
import { volume } from './volumes/volume.ts';

const podReadinessGate = struct('api.core.v1.PodReadinessGate', 'A condition that counts towards the readiness of a pod.', {
  conditionType: always(1, string({ format: 'qualifiedName' }), "Type of the condition in the pod's status that must be true.", { checkedEmpty: true }),
});

const podOS = struct('api.core.v1.PodOS', 'Operating system of a pod.', {
  name: always(1, string(), 'Name of the operating system, such as `linux` or `windows`.'),
});

const podSchedulingGate = struct('api.core.v1.PodSchedulingGate', 'A named reason for which a pod must not be scheduled yet.', {
  name: always(1, string(), 'Name of the gate, unique in the pod.'),
});

const podResourceClaim = struct('api.core.v1.PodResourceClaim', 'Names a resource claim, or a template that one is made from, for use by containers.', {
  name: req(1, string({ format: 'dnsLabel' }), 'Name by which containers refer to the claim.'),
  resourceClaimName: ptr(3, string({ format: 'dnsSubdomain' }), 'Name of an existing resource claim in the namespace of the pod.'),
  resourceClaimTemplateName: ptr(4, string({ format: 'dnsSubdomain' }), "Name of a template from which a claim of this pod's own is made."),
});

/** Parts of a pod's spec in the order in which they are checked. */
const checkedFirst = [
  ...['volumes', 'resourceClaims', 'containers', 'initContainers', 'ephemeralContainers', 'resources', 'restartPolicy', 'dnsPolicy'],
  ...['nodeSelector', 'securityContext', 'imagePullSecrets', 'affinity', 'dnsConfig', 'readinessGates', 'schedulingGates'],
  ...['topologySpreadConstraints', 'hostNetwork', 'serviceAccountName', 'nodeName', 'activeDeadlineSeconds', 'hostname', 'subdomain'],
  ...['tolerations', 'hostAliases', 'priorityClassName', 'runtimeClassName', 'preemptionPolicy', 'overhead', 'os'],
];

export const podSpec = struct(
  'api.core.v1.PodSpec',
  'What a pod should run, where it may run, and how it is stopped.',
  {
    volumes: opt(1, list(volume, { patchStrategy: 'merge,retainKeys', patchMergeKey: 'name' }), 'Volumes that the containers of the pod may mount.'),
    initContainers: opt(20, mergeList('name', container), 'Containers that run one after the other, each to its end, before the main containers start.'),
    containers: req(2, mergeList('name', container, { itemsMin: 1 }), 'The main containers of the pod; there is at least one, and none is added or removed later.'),
    ephemeralContainers: opt(34, mergeList('name', ephemeralContainer), 'Containers added to a running pod for debugging, through the `ephemeralcontainers` subresource only.'),
    restartPolicy: opt(3, enumInOrder('Always', 'OnFailure', 'Never'), 'When a container that ended is started again.', { default: 'Always' }),
    terminationGracePeriodSeconds: ptr(4, int64(), 'Seconds between the request to stop and the forced end of the containers; 0 ends them at once.', { default: 30 }),
    activeDeadlineSeconds: ptr(5, int64({ minimum: 1, maximum: 2 ** 31 - 1 }), 'Seconds after its start at which a pod that still runs is marked failed and stopped.'),
    dnsPolicy: opt(6, enumInOrder('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'), 'Where the containers take their DNS settings from.', { default: 'ClusterFirst' }),
    nodeSelector: opt(7, map(string(), { mapType: 'atomic' }), 'Labels that a node must carry, with these values, to run the pod.'),
    serviceAccountName: opt(8, string({ format: 'dnsSubdomain' }), 'Name of the service account that the pod runs as.'),
    serviceAccount: opt(9, string(), 'Older name of `serviceAccountName`; kept equal to it.', { deprecated: true }),
    automountServiceAccountToken: ptr(21, bool(), 'Whether a token of the service account is mounted into the containers.'),
    nodeName: opt(10, string({ format: 'dnsSubdomain' }), 'Name of the node that the pod is assigned to; empty until a scheduler has chosen one.'),
    hostNetwork: opt(11, bool(), "Use the network of the node in place of a network of the pod's own."),
    hostPID: opt(12, bool(), 'Share the process ids of the node.'),
    hostIPC: opt(13, bool(), 'Share the inter-process communication of the node.'),
    shareProcessNamespace: ptr(27, bool(), "Let all containers of the pod see each other's processes; not together with `hostPID`."),
    securityContext: ptr(14, podSecurityContext, 'Security settings of the pod, which are also the defaults of its containers.', { default: {} }),
    imagePullSecrets: opt(15, mergeList('name', localObjectReference, { duplicatesAllowed: true }), 'Secrets of the same namespace that hold credentials for image registries.'),
    hostname: opt(16, string({ format: 'dnsLabel' }), "Host name that the containers see; the pod's name where it is not set."),
    subdomain: opt(17, string({ format: 'dnsLabel' }), 'Makes the full host name `<hostname>.<subdomain>.<namespace>.svc.<cluster domain>`.'),
    affinity: ptr(18, affinity, 'Rules that attract the pod to nodes and to other pods, or keep it away from them.'),
    schedulerName: opt(19, string(), 'Name of the scheduler that assigns the pod to a node.', { default: 'default-scheduler' }),
    tolerations: opt(22, list(toleration), 'Taints of nodes that the pod puts up with.'),
    hostAliases: opt(23, mergeList('ip', hostAlias, { duplicatesAllowed: true }), 'Lines added to the hosts file of the containers.'),
    priorityClassName: opt(24, string({ format: 'dnsSubdomain' }), 'Name of the priority class that gives the pod its priority.'),
    priority: ptr(25, int32(), 'Importance of the pod as a number, set from its priority class; higher is more important.'),
    dnsConfig: ptr(26, podDNSConfig, 'DNS settings that are merged with those of the DNS policy.'),
    readinessGates: opt(28, list(podReadinessGate), 'Conditions that must be true, beside ready containers, for the pod to count as ready.'),
    runtimeClassName: ptr(29, string({ format: 'dnsSubdomain' }), 'Name of the runtime class that says which container runtime runs the pod.'),
    enableServiceLinks: ptr(30, bool(), 'Whether environment variables tell the containers about the services of the namespace; true for pods unless set.'),
    preemptionPolicy: ptr(31, enumInOrder('PreemptLowerPriority', 'Never'), 'Whether the pod may push out pods of lower priority.'),
    overhead: opt(32, map(quantity()), 'Resources that running the pod costs beside those of its containers, as its runtime class says.'),
    topologySpreadConstraints: opt(
      33,
      mergeList('topologyKey', topologySpreadConstraint, { mapKeys: ['topologyKey', 'whenUnsatisfiable'], duplicatesAllowed: true }),
      'How pods of one group are spread over zones, nodes or other domains.',
    ),
    setHostnameAsFQDN: ptr(35, bool(), 'Make the full domain name of the pod its host name.'),
    os: ptr(36, podOS, 'Operating system that the containers need.'),
    hostUsers: ptr(37, bool(), 'Use the user ids of the node; false gives the pod user ids of its own.', { gate: 'UserNamespacesSupport' }),
    schedulingGates: opt(38, mergeList('name', podSchedulingGate, { duplicatesAllowed: true }), 'Gates that keep the pod from being scheduled until all of them are removed.'),
    resourceClaims: opt(39, list(podResourceClaim, { patchStrategy: 'merge,retainKeys', patchMergeKey: 'name' }), 'Resource claims that must be allocated before the pod may start.', {
      gate: 'DynamicResourceAllocation',
    }),
    resources: ptr(40, resourceRequirements, 'Computing resources of the pod as a whole, shared by its containers.', { gate: 'PodLevelResources' }),
  },
  { checkedFirst },
);

export type PodSpec = Infer<typeof podSpec>;
