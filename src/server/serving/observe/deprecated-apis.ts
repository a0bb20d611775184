import type { Gauge, Metrics } from '../../../base/metrics.ts';
import type { ServedResource } from '../../../resources/resource.ts';

const labels = ['group', 'version', 'resource', 'subresource', 'removed_release'] as const;

/** Which deprecated versions were asked for since the start, under the published name. */
export class DeprecatedApis {
  readonly #gauge: Gauge<(typeof labels)[number]>;

  constructor(metrics: Metrics) {
    this.#gauge = metrics.gauge({
      name: 'apiserver_requested_deprecated_apis',
      stability: 'STABLE',
      help: 'Deprecated versions that were requested, by the release without them.',
      labels,
    });
  }

  /** `subresource` is one that there is. */
  requested({ kind: { group, version, resource, deprecated } }: ServedResource, subresource: string): void {
    this.#gauge.set({ group, version, resource, subresource, removed_release: deprecated?.removedRelease ?? '' }, 1);
  }
}
