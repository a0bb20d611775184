import type { Quantity } from '../../../meta/quantity.ts';
import { type Amounts, addTo, amountsOf, raiseTo, sumOf } from '../../quota/amounts.ts';
import type { Container } from './container/container.ts';
import type { PodSpec } from './pod-spec.ts';

/**
 * What a pod requests, or is limited to, without its overhead: the sum of its containers and sidecars, or what one of
 * the containers before them takes, beside the sidecars that run already, where that is more (KEP-753).
 */
export function podResources({ containers = [], initContainers = [] }: Pick<PodSpec, 'containers' | 'initContainers'>, which: 'requests' | 'limits'): Amounts {
  const of = ({ resources }: Pick<Container, 'resources'>): Amounts => amountsOf(resources?.[which]);
  const running = new Map<string, Quantity>();
  const sidecars = new Map<string, Quantity>();
  const starting = new Map<string, Quantity>();
  for (const container of containers) addTo(running, of(container));
  for (const container of initContainers) {
    const own = of(container);
    if (container.restartPolicy === 'Always') {
      addTo(running, own);
      addTo(sidecars, own);
      raiseTo(starting, sidecars);
    } else {
      raiseTo(starting, sumOf(own, sidecars));
    }
  }
  raiseTo(running, starting);
  return running;
}
