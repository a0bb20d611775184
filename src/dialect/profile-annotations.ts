import type { Dialect } from './dialect.ts';

/** Names of the annotations that had the profiles of pods and containers before fields did (KEP-24, KEP-135). */
export const profileAnnotations = ({ domain }: Pick<Dialect, 'domain'>) => ({
  seccompOfPod: `seccomp.security.alpha.${domain}/pod`,
  seccompOf: (container: string): string => `container.seccomp.security.alpha.${domain}/${container}`,
  appArmorOf: (container: string): string => `container.apparmor.security.beta.${domain}/${container}`,
});
