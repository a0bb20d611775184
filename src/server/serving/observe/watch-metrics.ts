import type { Histogram, Metrics } from '../../../base/metrics.ts';
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
  readonly #initialDurations: Histogram<'group' | 'version' | 'resource' | 'scope'>;

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
    this.#initialDurations = metrics.histogram({
      name: 'apiserver_watch_list_duration_seconds',
      help: 'Time from the headers of a watch with initial events until all of these were sent.',
      labels: ['group', 'version', 'resource', 'scope'],
      buckets: [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60],
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

  /** The initial events of a watch, and the bookmark that ends them, were sent. */
  initialEnded({ kind: { group, version, resource } }: ServedResource, scope: string, seconds: number): void {
    this.#initialDurations.observe({ group, version, resource, scope }, seconds);
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
