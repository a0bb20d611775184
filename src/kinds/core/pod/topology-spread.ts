import { always, documentedEnum, type Infer, int32, list, opt, ptr, string, struct } from '../../../schema/schema.ts';
import { labelSelector } from '../../meta/label-selector.ts';

export const topologySpreadConstraint = struct(
  'api.core.v1.TopologySpreadConstraint',
  'How evenly matching pods are spread over the domains of a topology.',
  {
    maxSkew: always(1, int32(), 'By how many pods one domain may be ahead of the domain with the fewest.'),
    topologyKey: always(2, string(), 'Label of nodes whose values are the domains.'),
    whenUnsatisfiable: always(3, documentedEnum('DoNotSchedule', 'ScheduleAnyway'), 'What happens to a pod that cannot be placed within the skew.'),
    labelSelector: ptr(4, labelSelector, 'Selects the pods that are counted.'),
    minDomains: ptr(5, int32(), 'Number of domains below which the smallest count is taken as zero.'),
    nodeAffinityPolicy: ptr(6, documentedEnum('Ignore', 'Honor'), "Whether nodes that the pod's node affinity and selector exclude are counted."),
    nodeTaintsPolicy: ptr(7, documentedEnum('Ignore', 'Honor'), 'Whether nodes with taints that the pod does not tolerate are left out of the count.'),
    matchLabelKeys: opt(8, list(string()), 'Label keys whose values in this pod narrow the selector.'),
  },
  { checkedFirst: ['maxSkew', 'topologyKey', 'whenUnsatisfiable', 'minDomains', 'nodeAffinityPolicy', 'nodeTaintsPolicy', 'matchLabelKeys'] },
);

export type TopologySpreadConstraint = Infer<typeof topologySpreadConstraint>;
