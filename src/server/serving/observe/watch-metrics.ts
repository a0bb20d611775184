import type { Metrics } from '../../../base/metrics.ts';
import type { ServedResource } from '../../../resources/resource.ts';

/** Counts the events that a watch sends. */
export interface WatchCounts {
  sent(bytes: number): void;
}

/**
 * Metrics of watch events with the names of kube-apiserver. The counts are cached per served resource, so that an event
 * costs an addition.
 */
export class WatchMetrics {
  readonly #counts = new WeakMap<ServedResource, WatchCounts>();
  readonly #make: (served: ServedResource) => WatchCounts;

  constructor(metrics: Metrics) {
    const labels = ['group', 'version', 'kind'] as const;
    const total = metrics.counter({
      name: 'apiserver_watch_events_total',
      help: 'Events sent to watches, including initial events.',
      labels,
    });
    const sizes = metrics.histogram({
      name: 'apiserver_watch_events_sizes',
      help: 'Bytes of these events as framed; for initial events, of their objects.',
      labels,
      buckets: Array.from({ length: 8 }, (_, power) => 1024 * 2 ** power),
    });
    this.#make = ({ kind: { group, version, kind } }) => {
      const [count, size] = [total.of({ group, version, kind }), sizes.of({ group, version, kind })];
      return {
        sent(bytes) {
          count.add();
          size.observe(bytes);
        },
      };
    };
  }

  of(served: ServedResource): WatchCounts {
    let counts = this.#counts.get(served);
    if (!counts) {
      counts = this.#make(served);
      this.#counts.set(served, counts);
    }
    return counts;
  }
}
