import { getOrAdd } from '../base/collections/get-or-add.ts';
import type { Counter, Metrics } from '../base/metrics.ts';
import type { Counted } from '../kinds/kind.ts';

/** Counts what kinds say of their updates. A counter appears in the metrics when it first counts. */
export function kindCounters(metrics: Metrics): (counted: Counted) => void {
  const counters = new Map<string, Counter<string>>();
  return ({ counter: definition, labels }) => {
    getOrAdd(counters, definition.name, () => metrics.counter(definition)).add(labels);
  };
}
