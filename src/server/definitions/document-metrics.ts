import type { Metrics } from '../../base/metrics.ts';

/** A change of what a definition serves. */
export interface ServedChange {
  readonly definition: string;
  readonly group: string;
  readonly reason: 'add' | 'update' | 'remove';
  /** The versions concerned. */
  readonly versions: readonly string[];
}

/** Counts by definition, under the published names, how often documents became other ones. */
export function documentMetrics(metrics: Metrics): (change: ServedChange) => void {
  const whole = metrics.counter({
    name: 'apiextensions_openapi_v2_regeneration_count',
    help: 'Changes of the OpenAPI v2 document by the definition that caused them, and why.',
    labels: ['crd', 'reason'],
  });
  const ofVersions = metrics.counter({
    name: 'apiextensions_openapi_v3_regeneration_count',
    help: 'Changes of OpenAPI v3 documents by group, version, the definition that caused them, and why.',
    labels: ['crd', 'group', 'reason', 'version'],
  });
  return ({ definition: crd, group, reason, versions }) => {
    whole.add({ crd, reason });
    for (const version of versions) ofVersions.add({ crd, group, reason, version });
  };
}
