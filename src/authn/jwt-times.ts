import type { Jwt } from './jwt.ts';

/**
 * How far the clocks of two machines may be apart: a token counts this much before and after its time, as in published
 * servers. Seconds.
 */
export const clockLeewaySeconds = 60;

/** The times of a token, in whole seconds since the Unix epoch. */
export interface JwtTimes {
  readonly expires?: number;
  readonly notBefore?: number;
  readonly issuedAt?: number;
}

export type TimeProblem = 'expired' | 'notYetValid' | 'issuedInFuture';

/**
 * Reads `exp`, `nbf` and `iat` (RFC 7519 section 4.1). Throws an Error that names the claim where one is there and not a
 * number; fractions are cut off.
 */
export function readTimes({ claims }: Pick<Jwt, 'claims'>): JwtTimes {
  const [expires, notBefore, issuedAt] = (['exp', 'nbf', 'iat'] as const).map((name) => readSeconds(claims, name));
  return {
    ...(expires !== undefined && { expires }),
    ...(notBefore !== undefined && { notBefore }),
    ...(issuedAt !== undefined && { issuedAt }),
  };
}

/** One time of an object, in whole seconds. Throws where it is there and not a number. */
export function readSeconds(fields: Readonly<Record<string, unknown>>, name: string): number | undefined {
  if (!Object.hasOwn(fields, name)) return undefined;
  const value = fields[name];
  if (typeof value !== 'number' && typeof value !== 'bigint') throw new Error(`claim ${name} is not a number`);
  return Math.trunc(Number(value));
}

/** Why a token is of no use now, or undefined. A time that is not there is no bound. */
export function timeProblem(
  times: JwtTimes,
  nowMs: number,
  leewaySeconds: number = clockLeewaySeconds,
): TimeProblem | undefined {
  const [earliest, latest] = [nowMs - leewaySeconds * 1000, nowMs + leewaySeconds * 1000];
  if (times.notBefore !== undefined && latest < times.notBefore * 1000) return 'notYetValid';
  if (times.expires !== undefined && earliest > times.expires * 1000) return 'expired';
  // The RFC leaves this open. Published servers refuse it: a clock that is so far off makes the other times wrong too.
  if (times.issuedAt !== undefined && latest < times.issuedAt * 1000) return 'issuedInFuture';
  return undefined;
}
