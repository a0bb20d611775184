import { addQuantity, compareQuantity, parseQuantity, type Quantity } from '../../../meta/quantity.ts';
import type { Container } from './container/container.ts';
import type { PodSpec } from './pod-spec.ts';

type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/** The resources that determine the QoS class. */
const counted = ['cpu', 'memory'] as const;
const zero: Quantity = { nanos: 0n, family: 'decimal' };

/**
 * The QoS class of a pod: `Guaranteed` if every container has CPU and memory limits and the total requests equal the total
 * limits, `BestEffort` if no container has CPU or memory requests or limits, else `Burstable`.
 */
export function qosClass({ containers = [], initContainers = [] }: PodSpec): QosClass {
  const all = [...containers, ...initContainers];
  const requests = sum(all, 'requests');
  const limits = sum(all, 'limits');
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const guaranteed =
    all.every(limitsAll) &&
    requests.size === limits.size &&
    [...requests].every(([name, request]) => compareQuantity(request, limits.get(name) ?? zero) === 0);
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

const limitsAll = (container: Container): boolean =>
  counted.every((name) => positive(container.resources?.limits?.[name]) !== undefined);

/** The sum per resource over all containers, without resources of which no container has any. */
function sum(containers: readonly Container[], which: 'requests' | 'limits'): ReadonlyMap<string, Quantity> {
  const total = new Map<string, Quantity>();
  for (const name of counted) {
    for (const container of containers) {
      const quantity = positive(container.resources?.[which]?.[name]);
      if (quantity) total.set(name, addQuantity(total.get(name) ?? zero, quantity));
    }
  }
  return total;
}

function positive(text: string | undefined): Quantity | undefined {
  const quantity = text === undefined ? undefined : parseQuantity(text);
  return quantity && quantity.nanos > 0n ? quantity : undefined;
}
