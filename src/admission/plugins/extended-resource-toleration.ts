import type { Dialect } from '../../dialect/dialect.ts';
import { asPod } from '../../kinds/core/pod/pod-schema.ts';
import type { Toleration } from '../../kinds/core/pod/toleration.ts';
import { isExtended } from '../../kinds/core/resource-names.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { writesPod } from './concerned-pods.ts';

/**
 * Pods that ask for resources of other domains, such as devices, tolerate taints of that name: nodes with such resources can
 * be kept free of other pods.
 */
export const extendedResourceToleration = ({ domain }: Dialect): AdmissionPlugin => ({
  name: 'ExtendedResourceToleration',
  sideEffects: 'none',
  concerns: writesPod,
  mutate({ object }) {
    const spec = object && asPod(object).spec;
    if (!spec) return;
    const asked = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].flatMap(({ resources }) =>
      Object.keys(resources?.requests ?? {}),
    );
    const extended = new Set(asked.filter((name) => isExtended(name, domain)));
    if (extended.size === 0) return;
    const { tolerations = [] } = spec;
    const known = tolerations.map((each) => (isOf(each, extended) ? tolerationOf(each.key ?? '') : each));
    const keys = new Set(tolerations.filter((each) => isOf(each, extended)).map(({ key }) => key));
    const added = [...extended].filter((name) => !keys.has(name)).sort();
    spec.tolerations = [...known, ...added.map(tolerationOf)];
  },
});

const tolerationOf = (key: string): Toleration => ({ key, operator: 'Exists', effect: 'NoSchedule' });

/** Tolerates what the plugin would, whatever it says of the time. */
const isOf = ({ key, operator, value = '', effect }: Toleration, resources: ReadonlySet<string>): boolean =>
  key !== undefined && resources.has(key) && operator === 'Exists' && value === '' && effect === 'NoSchedule';
