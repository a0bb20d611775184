import { defaultPodSecurity, type PodSecurityConfiguration } from './pod-security/pod-security-configuration.ts';

/** How long pods stay on nodes that fail, unless they say otherwise. Seconds. */
export interface TolerationSeconds {
  readonly notReady: number;
  readonly unreachable: number;
}

/** What operators configure of the built-in plugins. Plain data: it is sent to another thread. */
export interface PluginConfigurations {
  readonly podSecurity: PodSecurityConfiguration;
  readonly tolerationSeconds: TolerationSeconds;
}

export const defaultPluginConfigurations: PluginConfigurations = {
  podSecurity: defaultPodSecurity,
  tolerationSeconds: { notReady: 300, unreachable: 300 },
};
