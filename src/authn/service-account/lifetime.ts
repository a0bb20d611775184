import type { TokenLifetime, TokenLifetimeRequest } from '../../kinds/authentication/token-grant.ts';

export interface LifetimeOptions {
  /** `--service-account-max-token-expiration`; undefined: no maximum. */
  readonly maxExpirationSeconds: number | undefined;
  /** `--service-account-extend-token-expiration`. */
  readonly extendExpiration: boolean;
  readonly apiAudiences: readonly string[];
}

/**
 * The expiration that kube-apiserver requests for tokens injected into pods: an hour and 7 seconds, to tell them apart.
 * They are extended for old clients that read their token only once.
 */
export const extendedRequestSeconds = 3607;
export const extendedLifetimeSeconds = 365 * 24 * 3600;

/**
 * Lifetime of a requested token. Requests beyond the maximum are shortened. An injected token (bound to a pod, for the
 * API server only) is extended to a year, even past the maximum, as in kube-apiserver; the response still has the
 * requested expiration, so that the kubelet refreshes the token in time.
 */
export function tokenLifetime(request: TokenLifetimeRequest, options: LifetimeOptions): TokenLifetime {
  const { maxExpirationSeconds: max } = options;
  if (max !== undefined && request.expirationSeconds > max) {
    const shortened = tokenLifetime({ ...request, expirationSeconds: max }, options);
    return {
      ...shortened,
      warning: `requested expiration of ${request.expirationSeconds} seconds shortened to ${max} seconds`,
    };
  }
  const { expirationSeconds } = request;
  if (!isExtended(request, options)) return { expirationSeconds, lifetimeSeconds: expirationSeconds };
  return { expirationSeconds, lifetimeSeconds: extendedLifetimeSeconds, warnAfterSeconds: expirationSeconds };
}

const isExtended = (request: TokenLifetimeRequest, options: LifetimeOptions): boolean =>
  options.extendExpiration &&
  request.boundToPod &&
  request.expirationSeconds === extendedRequestSeconds &&
  request.audiences.every((audience) => options.apiAudiences.includes(audience));
