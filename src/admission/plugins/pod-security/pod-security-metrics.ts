import type { Metrics } from '../../../base/metrics.ts';
import { publishedRelease } from '../../../dialect/published-release.ts';
import { type LevelVersion, minorOf, type PolicyMode } from './level-version.ts';

/** The write that was looked at. */
interface ObservedWrite {
  readonly operation: string;
  readonly resource: 'pod' | 'namespace' | 'controller';
  readonly subresource: string;
}

/** What the plugin did, for metrics. Plain data: it may come from another thread. */
export type PodSecurityOutcome = { readonly write: ObservedWrite } & (
  | {
      readonly type: 'evaluation';
      readonly decision: 'allow' | 'deny';
      readonly level: LevelVersion;
      readonly mode: PolicyMode;
    }
  | { readonly type: 'exemption' }
  /** `fatal`: the write was refused for it. */
  | { readonly type: 'error'; readonly fatal: boolean }
);

/** Series that are there from the start, at 0: those which published servers make in advance. */
const written = ['create', 'update'];
const seenFirst = { decision: 'allow', policy_level: 'privileged', policy_version: 'latest', mode: 'enforce' };

/** Counts under the metric names of kube-apiserver. */
export function podSecurityMetrics(metrics: Metrics): (outcome: PodSecurityOutcome) => void {
  const of = ['request_operation', 'resource', 'subresource'] as const;
  const evaluations = metrics.counter({
    name: 'pod_security_evaluations_total',
    help: 'Evaluations of the security level of pods; writes that are ignored or exempt are not counted.',
    labels: ['decision', 'policy_level', 'policy_version', 'mode', ...of],
  });
  const exemptions = metrics.counter({
    name: 'pod_security_exemptions_total',
    help: 'Writes that are exempt from checks of their security level.',
    labels: of,
  });
  const errors = metrics.counter({
    name: 'pod_security_errors_total',
    help: 'Errors that prevented a normal evaluation. One that is not fatal may have led to the strictest level.',
    labels: ['fatal', ...of],
  });
  for (const request_operation of written) {
    evaluations.add({ ...seenFirst, request_operation, resource: 'pod', subresource: '' }, 0);
    for (const resource of ['pod', 'controller']) exemptions.add({ request_operation, resource, subresource: '' }, 0);
  }
  return ({ write: { operation, resource, subresource }, ...outcome }) => {
    const labels = { request_operation: operation, resource, subresource };
    switch (outcome.type) {
      case 'evaluation': {
        const { decision, mode, level } = outcome;
        const series = { decision, policy_level: level.level, policy_version: versionLabel(level), mode };
        return evaluations.add({ ...series, ...labels });
      }
      case 'exemption':
        return exemptions.add(labels);
      case 'error':
        return errors.add({ fatal: String(outcome.fatal), ...labels });
    }
  };
}

const ownMinor = minorOf(`v${publishedRelease}`);

/** Namespaces choose versions: those after this release are one series. */
function versionLabel({ level, version }: LevelVersion): string {
  if (level === 'privileged' || version === 'latest') return 'latest';
  return minorOf(version) > ownMinor ? 'future' : version;
}
