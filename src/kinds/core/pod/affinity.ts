import { always, type Infer, int32, list, opt, ptr, string, struct } from '../../../schema/schema.ts';
import { labelSelector } from '../../meta/label-selector.ts';
import { nodeSelector, nodeSelectorTerm } from '../node-selector.ts';

const preferredSchedulingTerm = struct('api.core.v1.PreferredSchedulingTerm', 'A node term and what a match with it is worth.', {
  weight: always(1, int32(), 'Worth of a match, from 1 to 100.'),
  preference: always(2, nodeSelectorTerm, 'Term that is matched against the node.', { documented: 'required' }),
});

const nodeAffinity = struct('api.core.v1.NodeAffinity', 'Node requirements and preferences of a pod.', {
  requiredDuringSchedulingIgnoredDuringExecution: ptr(1, nodeSelector, "Must match when the pod is scheduled; later changes of the node don't move it."),
  preferredDuringSchedulingIgnoredDuringExecution: opt(2, list(preferredSchedulingTerm), 'Weighted preferences; nodes with the largest sum of matching weights come first.'),
});

const podAffinityTerm = struct('api.core.v1.PodAffinityTerm', 'A set of pods, and the topology domain in which they count as near.', {
  labelSelector: ptr(1, labelSelector, 'Selects pods by their labels.'),
  namespaces: opt(2, list(string()), 'Namespaces to look in; with no namespace selector either, that of this pod.'),
  topologyKey: always(3, string(), 'Label of nodes; nodes with the same value of it are near to each other.'),
  namespaceSelector: ptr(4, labelSelector, 'Selects namespaces to look in, added to those listed.'),
  matchLabelKeys: opt(5, list(string()), 'Label keys whose values in this pod the selected pods must share.'),
  mismatchLabelKeys: opt(6, list(string()), 'Label keys whose values in this pod the selected pods must not share.'),
});

const weightedPodAffinityTerm = struct('api.core.v1.WeightedPodAffinityTerm', 'A pod affinity term and what meeting it is worth.', {
  weight: always(1, int32(), 'Worth of the term, from 1 to 100.'),
  podAffinityTerm: always(2, podAffinityTerm, 'Term that is matched.', { documented: 'required' }),
});

const podAffinity = struct('api.core.v1.PodAffinity', 'Which pods this one should share a topology domain with.', {
  requiredDuringSchedulingIgnoredDuringExecution: opt(1, list(podAffinityTerm), 'Terms that must all be met when the pod is scheduled.'),
  preferredDuringSchedulingIgnoredDuringExecution: opt(2, list(weightedPodAffinityTerm), 'Weighted terms that nodes are ranked by.'),
});

const podAntiAffinity = struct('api.core.v1.PodAntiAffinity', 'Which pods this one should not share a topology domain with.', {
  requiredDuringSchedulingIgnoredDuringExecution: opt(1, list(podAffinityTerm), 'Terms that must all be met when the pod is scheduled.'),
  preferredDuringSchedulingIgnoredDuringExecution: opt(2, list(weightedPodAffinityTerm), 'Weighted terms that nodes are ranked by.'),
});

export const affinity = struct('api.core.v1.Affinity', 'Scheduling rules that relate a pod to nodes and to other pods.', {
  nodeAffinity: ptr(1, nodeAffinity, 'Which nodes the pod needs or prefers.'),
  podAffinity: ptr(2, podAffinity, 'Which pods this one wants to be near.'),
  podAntiAffinity: ptr(3, podAntiAffinity, 'Which pods this one wants to be away from.'),
});

export type Affinity = Infer<typeof affinity>;
