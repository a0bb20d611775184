import type { TokenLifetime, TokenLifetimeRequest } from '../../kinds/authentication/token-grant.ts';

export interface LifetimeOptions {
  /** `--service-account-max-token-expiration`; undefined: no maximum. */
  readonly maxExpirationSeconds: number | undefined;
  /** `--service-account-extend-token-expiration`. */
  readonly extendExpiration: boolean;
  readonly apiAudiences: readonly string[];
}

/**
 * An hour and an odd seven seconds: what is put into pods without anybody having asked for it. Old programs that read
 * their token only once are to go on working with these.
 */
export const extendedRequestSeconds = 3607;
export const extendedLifetimeSeconds = 365 * 24 * 3600;

/**
 * How long a token is valid for. Longer requests than the maximum are shortened. Those of an injected token, for a pod and
 * nobody but the API server, are extended to a year, past any maximum, as in published servers; the answer still says what
 * was asked for, so that the pod's agent asks for a new one in time.
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
