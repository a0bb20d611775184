import {
  boolean,
  type Infer,
  int32,
  int64,
  list,
  map,
  optional,
  quantity,
  required,
  string,
  struct,
} from '../../../schema/schema.ts';
import { localObjectReference } from '../references.ts';
import { affinity } from './affinity.ts';
import { container } from './container.ts';
import { resourceRequirements } from './container-resources.ts';
import { hostAlias, podDNSConfig } from './dns.ts';
import { ephemeralContainer } from './ephemeral-container.ts';
import { podSecurityContext } from './security-context.ts';
import { toleration } from './toleration.ts';
import { topologySpreadConstraint } from './topology-spread.ts';
import { volume } from './volume.ts';

const podReadinessGate = struct(
  'api.core.v1.PodReadinessGate',
  'A condition that counts towards the readiness of a pod.',
  {
    conditionType: required(
      1,
      string({ format: 'qualifiedName' }),
      "Type of the condition in the pod's status that must be true.",
    ),
  },
);

const podOS = struct('api.core.v1.PodOS', 'Operating system of a pod.', {
  name: required(
    1,
    string({ enum: ['linux', 'windows'] }),
    'Name of the operating system, such as `linux` or `windows`.',
  ),
});

const podSchedulingGate = struct(
  'api.core.v1.PodSchedulingGate',
  'A named reason for which a pod must not be scheduled yet.',
  {
    name: required(1, string({ format: 'qualifiedName' }), 'Name of the gate, unique in the pod.'),
  },
);

const podResourceClaim = struct(
  'api.core.v1.PodResourceClaim',
  'Names a resource claim, or a template that one is made from, for use by containers.',
  {
    name: required(1, string({ format: 'dnsLabel' }), 'Name by which containers refer to the claim.'),
    resourceClaimName: optional(
      3,
      string({ format: 'dnsSubdomain' }),
      'Name of an existing resource claim in the namespace of the pod.',
      { presence: 'explicit' },
    ),
    resourceClaimTemplateName: optional(
      4,
      string({ format: 'dnsSubdomain' }),
      "Name of a template from which a claim of this pod's own is made.",
      { presence: 'explicit' },
    ),
  },
);

export const podSpec = struct(
  'api.core.v1.PodSpec',
  'What a pod should run, where it may run, and how it is stopped.',
  {
    volumes: optional(
      1,
      list(volume, { patchStrategy: 'merge,retainKeys', patchMergeKey: 'name' }),
      'Volumes that the containers of the pod may mount.',
    ),
    initContainers: optional(
      20,
      list(container, { patchStrategy: 'merge', patchMergeKey: 'name' }),
      'Containers that run one after the other, each to its end, before the main containers start.',
    ),
    containers: required(
      2,
      list(container, { patchStrategy: 'merge', patchMergeKey: 'name', itemsMin: 1 }),
      'The main containers of the pod; there is at least one, and none is added or removed later.',
    ),
    ephemeralContainers: optional(
      34,
      list(ephemeralContainer, { patchStrategy: 'merge', patchMergeKey: 'name' }),
      'Containers added to a running pod for debugging, through the `ephemeralcontainers` subresource only.',
    ),
    restartPolicy: optional(
      3,
      string({ enum: ['Always', 'OnFailure', 'Never'] }),
      'When a container that ended is started again.',
      { default: 'Always' },
    ),
    terminationGracePeriodSeconds: optional(
      4,
      int64(),
      'Seconds between the request to stop and the forced end of the containers; 0 ends them at once.',
      { presence: 'explicit', default: 30 },
    ),
    activeDeadlineSeconds: optional(
      5,
      int64({ minimum: 1, maximum: 2 ** 31 - 1 }),
      'Seconds after its start at which a pod that still runs is marked failed and stopped.',
      { presence: 'explicit' },
    ),
    dnsPolicy: optional(
      6,
      string({ enum: ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'] }),
      'Where the containers take their DNS settings from.',
      { default: 'ClusterFirst' },
    ),
    nodeSelector: optional(
      7,
      map(string(), { mapType: 'atomic' }),
      'Labels that a node must carry, with these values, to run the pod.',
    ),
    serviceAccountName: optional(
      8,
      string({ format: 'dnsSubdomain' }),
      'Name of the service account that the pod runs as.',
    ),
    serviceAccount: optional(9, string(), 'Older name of `serviceAccountName`; kept equal to it.', {
      deprecated: true,
    }),
    automountServiceAccountToken: optional(
      21,
      boolean(),
      'Whether a token of the service account is mounted into the containers.',
      { presence: 'explicit' },
    ),
    nodeName: optional(
      10,
      string({ format: 'dnsSubdomain' }),
      'Name of the node that the pod is assigned to; empty until a scheduler has chosen one.',
    ),
    hostNetwork: optional(11, boolean(), "Use the network of the node in place of a network of the pod's own."),
    hostPID: optional(12, boolean(), 'Share the process ids of the node.'),
    hostIPC: optional(13, boolean(), 'Share the inter-process communication of the node.'),
    shareProcessNamespace: optional(
      27,
      boolean(),
      "Let all containers of the pod see each other's processes; not together with `hostPID`.",
      { presence: 'explicit' },
    ),
    securityContext: optional(
      14,
      podSecurityContext,
      'Security settings of the pod, which are also the defaults of its containers.',
      { presence: 'explicit', default: {} },
    ),
    imagePullSecrets: optional(
      15,
      list(localObjectReference, { patchStrategy: 'merge', patchMergeKey: 'name', duplicatesAllowed: true }),
      'Secrets of the same namespace that hold credentials for image registries.',
    ),
    hostname: optional(
      16,
      string({ format: 'dnsLabel' }),
      "Host name that the containers see; the pod's name where it is not set.",
    ),
    subdomain: optional(
      17,
      string({ format: 'dnsLabel' }),
      'Makes the full host name `<hostname>.<subdomain>.<namespace>.svc.<cluster domain>`.',
    ),
    affinity: optional(
      18,
      affinity,
      'Rules that attract the pod to nodes and to other pods, or keep it away from them.',
      { presence: 'explicit' },
    ),
    schedulerName: optional(19, string(), 'Name of the scheduler that assigns the pod to a node.', {
      default: 'default-scheduler',
    }),
    tolerations: optional(22, list(toleration), 'Taints of nodes that the pod puts up with.'),
    hostAliases: optional(
      23,
      list(hostAlias, { patchStrategy: 'merge', patchMergeKey: 'ip', duplicatesAllowed: true }),
      'Lines added to the hosts file of the containers.',
    ),
    priorityClassName: optional(
      24,
      string({ format: 'dnsSubdomain' }),
      'Name of the priority class that gives the pod its priority.',
    ),
    priority: optional(
      25,
      int32(),
      'Importance of the pod as a number, set from its priority class; higher is more important.',
      { presence: 'explicit' },
    ),
    dnsConfig: optional(26, podDNSConfig, 'DNS settings that are merged with those of the DNS policy.', {
      presence: 'explicit',
    }),
    readinessGates: optional(
      28,
      list(podReadinessGate),
      'Conditions that must be true, beside ready containers, for the pod to count as ready.',
    ),
    runtimeClassName: optional(
      29,
      string({ format: 'dnsSubdomain' }),
      'Name of the runtime class that says which container runtime runs the pod.',
      { presence: 'explicit' },
    ),
    enableServiceLinks: optional(
      30,
      boolean(),
      'Whether environment variables tell the containers about the services of the namespace.',
      { presence: 'explicit', default: true },
    ),
    preemptionPolicy: optional(
      31,
      string({ enum: ['PreemptLowerPriority', 'Never'] }),
      'Whether the pod may push out pods of lower priority.',
      { presence: 'explicit' },
    ),
    overhead: optional(
      32,
      map(quantity()),
      'Resources that running the pod costs beside those of its containers, as its runtime class says.',
    ),
    topologySpreadConstraints: optional(
      33,
      list(topologySpreadConstraint, {
        patchStrategy: 'merge',
        patchMergeKey: 'topologyKey',
        mapKeys: ['topologyKey', 'whenUnsatisfiable'],
      }),
      'How pods of one group are spread over zones, nodes or other domains.',
    ),
    setHostnameAsFQDN: optional(35, boolean(), 'Make the full domain name of the pod its host name.', {
      presence: 'explicit',
    }),
    os: optional(36, podOS, 'Operating system that the containers need.', { presence: 'explicit' }),
    hostUsers: optional(37, boolean(), 'Use the user ids of the node; false gives the pod user ids of its own.', {
      presence: 'explicit',
    }),
    schedulingGates: optional(
      38,
      list(podSchedulingGate, { patchStrategy: 'merge', patchMergeKey: 'name' }),
      'Gates that keep the pod from being scheduled until all of them are removed.',
    ),
    resourceClaims: optional(
      39,
      list(podResourceClaim, { patchStrategy: 'merge,retainKeys', patchMergeKey: 'name' }),
      'Resource claims that must be allocated before the pod may start.',
    ),
    resources: optional(
      40,
      resourceRequirements,
      'Computing resources of the pod as a whole, shared by its containers.',
      { presence: 'explicit' },
    ),
  },
);

export type PodSpec = Infer<typeof podSpec>;
