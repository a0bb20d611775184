import { type Infer, int32, list, optional, required, string, struct } from '../../../schema/schema.ts';
import { labelSelector, labelSelectorNeeded } from '../../meta/label-selector.ts';
import { nodeSelector, nodeSelectorTerm } from '../node-selector.ts';

const preferredSchedulingTerm = struct(
  'api.core.v1.PreferredSchedulingTerm',
  'A node term and what a match with it is worth.',
  {
    weight: required(1, int32({ minimum: 1, maximum: 100 }), 'Worth of a match, from 1 to 100.'),
    preference: required(2, nodeSelectorTerm, 'Term that is matched against the node.', { presence: 'always' }),
  },
);

const nodeAffinity = struct('api.core.v1.NodeAffinity', 'Node requirements and preferences of a pod.', {
  requiredDuringSchedulingIgnoredDuringExecution: optional(
    1,
    nodeSelector,
    "Must match when the pod is scheduled; later changes of the node don't move it.",
    { presence: 'explicit' },
  ),
  preferredDuringSchedulingIgnoredDuringExecution: optional(
    2,
    list(preferredSchedulingTerm),
    'Weighted preferences; nodes with the largest sum of matching weights come first.',
  ),
});

const podAffinityTerm = struct(
  'api.core.v1.PodAffinityTerm',
  'A set of pods, and the topology domain in which they count as near.',
  {
    labelSelector: optional(1, labelSelector, 'Selects pods by their labels.', { presence: 'explicit' }),
    namespaces: optional(
      2,
      list(string()),
      'Namespaces to look in; with no namespace selector either, that of this pod.',
    ),
    topologyKey: required(
      3,
      string({ format: 'qualifiedName' }),
      'Label of nodes; nodes with the same value of it are near to each other.',
    ),
    namespaceSelector: optional(4, labelSelector, 'Selects namespaces to look in, added to those listed.', {
      presence: 'explicit',
    }),
    matchLabelKeys: optional(5, list(string()), 'Label keys whose values in this pod the selected pods must share.', {
      onlyWith: labelSelectorNeeded,
    }),
    mismatchLabelKeys: optional(
      6,
      list(string()),
      'Label keys whose values in this pod the selected pods must not share.',
      { onlyWith: labelSelectorNeeded },
    ),
  },
);

const weightedPodAffinityTerm = struct(
  'api.core.v1.WeightedPodAffinityTerm',
  'A pod affinity term and what meeting it is worth.',
  {
    weight: required(1, int32({ minimum: 1, maximum: 100 }), 'Worth of the term, from 1 to 100.'),
    podAffinityTerm: required(2, podAffinityTerm, 'Term that is matched.', { presence: 'always' }),
  },
);

const podAffinity = struct('api.core.v1.PodAffinity', 'Which pods this one should share a topology domain with.', {
  requiredDuringSchedulingIgnoredDuringExecution: optional(
    1,
    list(podAffinityTerm),
    'Terms that must all be met when the pod is scheduled.',
  ),
  preferredDuringSchedulingIgnoredDuringExecution: optional(
    2,
    list(weightedPodAffinityTerm),
    'Weighted terms that nodes are ranked by.',
  ),
});

const podAntiAffinity = struct(
  'api.core.v1.PodAntiAffinity',
  'Which pods this one should not share a topology domain with.',
  {
    requiredDuringSchedulingIgnoredDuringExecution: optional(
      1,
      list(podAffinityTerm),
      'Terms that must all be met when the pod is scheduled.',
    ),
    preferredDuringSchedulingIgnoredDuringExecution: optional(
      2,
      list(weightedPodAffinityTerm),
      'Weighted terms that nodes are ranked by.',
    ),
  },
);

export const affinity = struct(
  'api.core.v1.Affinity',
  'Scheduling rules that relate a pod to nodes and to other pods.',
  {
    nodeAffinity: optional(1, nodeAffinity, 'Which nodes the pod needs or prefers.', { presence: 'explicit' }),
    podAffinity: optional(2, podAffinity, 'Which pods this one wants to be near.', { presence: 'explicit' }),
    podAntiAffinity: optional(3, podAntiAffinity, 'Which pods this one wants to be away from.', {
      presence: 'explicit',
    }),
  },
);

export type Affinity = Infer<typeof affinity>;
