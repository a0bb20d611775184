import type { Metrics } from '../../../base/metrics.ts';

/** Counts how often aggregated discovery is made anew, under the published name. */
export function discoveryMetrics(metrics: Metrics): () => void {
  const aggregations = metrics.counter({
    name: 'aggregator_discovery_aggregation_count_total',
    help: 'How often the documents of aggregated discovery were made.',
    labels: [],
  });
  return () => aggregations.add({});
}
