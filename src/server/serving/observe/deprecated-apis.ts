import type { Gauge, Metrics } from '../../../base/metrics.ts';
import type { ServedResource } from '../../../resources/resource.ts';

const labels = ['group', 'version', 'resource', 'subresource', 'removed_release'] as const;

/** Deprecated versions that were requested since the start, under the metric name of kube-apiserver. */
export class DeprecatedApis {
  readonly #gauge: Gauge<(typeof labels)[number]>;

  constructor(metrics: Metrics) {
    this.#gauge = metrics.gauge({
      name: 'apiserver_requested_deprecated_apis',
      common: true,
      stability: 'STABLE',
      help: 'Deprecated versions that were requested, with the release that removes them.',
      labels,
    });
  }

  /** `subresource` must exist. */
  requested({ kind: { group, version, resource, deprecated } }: ServedResource, subresource: string): void {
    this.#gauge.set({ group, version, resource, subresource, removed_release: deprecated?.removedRelease ?? '' }, 1);
  }
}
