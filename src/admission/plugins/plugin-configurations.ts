import type { EventLimit } from './event-limits.ts';
import type { PodNodeSelectors } from './pod-node-selector.ts';
import { defaultPodSecurity, type PodSecurityConfiguration } from './pod-security/pod-security-configuration.ts';
import type { PodTolerations } from './pod-toleration-restriction.ts';
import type { LimitedResource } from './resource-quota/check-quotas.ts';

/** How long pods stay on nodes that fail, unless they say otherwise. Seconds. */
export interface TolerationSeconds {
  readonly notReady: number;
  readonly unreachable: number;
}

/** What operators configure of the built-in plugins. Plain data: it is sent to another thread. */
export interface PluginConfigurations {
  readonly podSecurity: PodSecurityConfiguration;
  readonly tolerationSeconds: TolerationSeconds;
  readonly podNodeSelectors: PodNodeSelectors;
  readonly podTolerations: PodTolerations;
  readonly eventLimits: readonly EventLimit[];
  readonly limitedResources: readonly LimitedResource[];
}

export const defaultPluginConfigurations: PluginConfigurations = {
  podSecurity: defaultPodSecurity,
  tolerationSeconds: { notReady: 300, unreachable: 300 },
  podNodeSelectors: {},
  podTolerations: { default: [], allowed: [] },
  eventLimits: [],
  limitedResources: [],
};
