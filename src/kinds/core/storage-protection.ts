import type { Dialect } from '../../dialect/dialect.ts';

/** Finalizer that keeps a claim while pods use it. */
export const claimProtection = ({ domain }: Dialect): string => `${domain}/pvc-protection`;

/** Finalizer that keeps a volume while a claim is bound to it. */
export const volumeProtection = ({ domain }: Dialect): string => `${domain}/pv-protection`;
