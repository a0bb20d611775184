import type { PodSecurityPolicy } from './level-version.ts';

/** Whose pods are not checked. */
interface Exemptions {
  readonly usernames: readonly string[];
  readonly namespaces: readonly string[];
  readonly runtimeClasses: readonly string[];
}

/** Plain data: it is sent to another thread. */
export interface PodSecurityConfiguration {
  /** For namespaces whose labels say nothing. */
  readonly defaults: PodSecurityPolicy;
  readonly exemptions: Exemptions;
}

const unchecked = { level: 'privileged', version: 'latest' } as const;

/** Without a file: namespaces decide, by their labels. */
export const defaultPodSecurity: PodSecurityConfiguration = {
  defaults: { enforce: unchecked, audit: unchecked, warn: unchecked },
  exemptions: { usernames: [], namespaces: [], runtimeClasses: [] },
};
