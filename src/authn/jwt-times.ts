import type { Jwt } from './jwt.ts';

/**
 * Tolerated clock skew between machines, applied before and after the validity period, as in kube-apiserver. Seconds.
 */
export const clockLeewaySeconds = 60;

/** Times of a token, in whole seconds since the Unix epoch. */
export interface JwtTimes {
  readonly expires?: number;
  readonly notBefore?: number;
  readonly issuedAt?: number;
}

export type TimeProblem = 'expired' | 'notYetValid' | 'issuedInFuture';

/**
 * Reads `exp`, `nbf` and `iat` (RFC 7519 section 4.1), truncated to whole seconds. Throws an Error that names the claim
 * if it is not a number.
 */
export function readTimes({ claims }: Pick<Jwt, 'claims'>): JwtTimes {
  const [expires, notBefore, issuedAt] = (['exp', 'nbf', 'iat'] as const).map((name) => readSeconds(claims, name));
  return {
    ...(expires !== undefined && { expires }),
    ...(notBefore !== undefined && { notBefore }),
    ...(issuedAt !== undefined && { issuedAt }),
  };
}

/** One time claim in whole seconds, undefined if absent. Throws if it is not a number. */
export function readSeconds(fields: Readonly<Record<string, unknown>>, name: string): number | undefined {
  if (!Object.hasOwn(fields, name)) return undefined;
  const value = fields[name];
  if (typeof value !== 'number' && typeof value !== 'bigint') throw new Error(`claim ${name} is not a number`);
  return Math.trunc(Number(value));
}

/** Why the token is not valid now, or undefined. An absent claim sets no bound. */
export function timeProblem(
  times: JwtTimes,
  nowMs: number,
  leewaySeconds: number = clockLeewaySeconds,
): TimeProblem | undefined {
  const [earliest, latest] = [nowMs - leewaySeconds * 1000, nowMs + leewaySeconds * 1000];
  if (times.notBefore !== undefined && latest < times.notBefore * 1000) return 'notYetValid';
  if (times.expires !== undefined && earliest > times.expires * 1000) return 'expired';
  // The RFC does not require this. kube-apiserver rejects it: with a clock so far off, the other times are wrong too.
  if (times.issuedAt !== undefined && latest < times.issuedAt * 1000) return 'issuedInFuture';
  return undefined;
}
