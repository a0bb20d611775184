import type { Dialect } from '../../dialect/dialect.ts';
import { asPod } from '../../kinds/core/pod/pod-schema.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import { writesPod } from './concerned-pods.ts';

/** A pod may keep others off its node, and not off whole zones. */
export function limitPodHardAntiAffinityTopology({ domain }: Dialect): AdmissionPlugin {
  const allowed = `${domain}/hostname`;
  return {
    name: 'LimitPodHardAntiAffinityTopology',
    sideEffects: 'none',
    concerns: writesPod,
    validate(attributes) {
      const { affinity } = (attributes.object && asPod(attributes.object).spec) ?? {};
      const terms = affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
      for (const { topologyKey = '' } of terms) {
        if (topologyKey === allowed) continue;
        const why = `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${topologyKey} but only key ${allowed} is allowed`;
        throw admissionForbidden(attributes, why);
      }
    },
  };
}
