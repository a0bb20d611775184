import { limits } from '../../base/limits.ts';
import type { SignatureAlgorithm } from '../../pki/signature-algorithm.ts';
import { getOwn } from '../../schema/own-property.ts';
import type { Jwt } from '../jwt.ts';
import { headerProblem } from '../jwt-signature.ts';
import { readTimes, timeProblem } from '../jwt-times.ts';
import type { KeySet } from './key-set.ts';
import type { KeySource } from './key-source.ts';

type IdTokenProblem =
  /** No keys of the provider have been fetched yet, so the token cannot be verified. */
  | 'notReady'
  /** Too many tokens are waiting for the provider's keys. */
  | 'busy'
  | 'header'
  | 'algorithm'
  | 'times'
  | 'expired'
  | 'notYetValid'
  | 'audience'
  | 'signature'
  /** A distributed claim could not be resolved. */
  | 'distributedClaim';

/** An invalid token of a configured issuer. The message contains nothing of the token. */
export class IdTokenError extends Error {
  readonly code: IdTokenProblem;

  constructor(code: IdTokenProblem, message: string, cause?: unknown) {
    super(`openid connect: ${message}`, cause === undefined ? {} : { cause });
    this.name = 'IdTokenError';
    this.code = code;
  }
}

/** Requirements for the tokens of an issuer. */
export interface IdTokenRules {
  readonly algorithms: readonly SignatureAlgorithm[];
  readonly audiences: readonly string[];
}

/** Google's tokens have the issuer with or without the scheme (OpenID Connect Core section 15.6.2). */
const googleIssuer = { short: 'accounts.google.com', full: 'https://accounts.google.com' } as const;

/** The issuer that the token claims. Unverified: use it only to select the keys. */
export function claimedIssuer({ claims }: Jwt): string | undefined {
  const issuer = getOwn(claims, 'iss');
  if (issuer === googleIssuer.short) return googleIssuer.full;
  return typeof issuer === 'string' ? issuer : undefined;
}

/**
 * Verifies a token with the keys of its issuer (OpenID Connect Core section 3.1.3.7). Checks that need no key come
 * first, so that invalid tokens do not cause a fetch. Synchronous unless keys must be fetched; throws or rejects with
 * an IdTokenError.
 */
export function verifyIdToken(jwt: Jwt, source: KeySource, rules: IdTokenRules, nowMs: number): void | Promise<void> {
  checkHeader(jwt, rules.algorithms);
  checkTimes(jwt, nowMs);
  checkAudience(jwt, rules.audiences);
  const { keys } = source;
  if (!keys) return verifyWithFirst(jwt, source);
  if (keys.hasSigned(jwt)) return;
  // The key may be new, or replaced under the same id.
  requireRoom(source);
  const renewed = source.renew();
  if (!renewed) throw notSigned();
  return verifyWithRenewed(jwt, keys, renewed);
}

function verifyWithFirst(jwt: Jwt, source: KeySource): Promise<void> {
  requireRoom(source);
  const first = source.first();
  if (!first) throw notReached();
  return first.then((keys) => {
    if (!keys) throw notReached();
    if (!keys.hasSigned(jwt)) throw notSigned();
  });
}

function requireRoom({ waiting }: KeySource): void {
  if (waiting >= limits.oidcWaitingMax) throw new IdTokenError('busy', 'too many tokens are waiting for new keys');
}

async function verifyWithRenewed(jwt: Jwt, before: KeySet, renewed: Promise<KeySet | undefined>): Promise<void> {
  const keys = await renewed;
  if (!keys || keys === before || !keys.hasSigned(jwt)) throw notSigned();
}

const notReached = () => new IdTokenError('notReady', 'the provider has not been reached yet');
const notSigned = () => new IdTokenError('signature', 'the token is not signed with a key of its issuer');

function checkHeader({ header }: Jwt, algorithms: readonly SignatureAlgorithm[]): void {
  const problem = headerProblem(header);
  if (problem !== undefined) throw new IdTokenError('header', problem);
  if (!algorithms.some((accepted) => accepted === header['alg'])) {
    throw new IdTokenError('algorithm', `the token is not signed with ${algorithms.join(' or ')}`);
  }
}

/** Like kube-apiserver: no leeway for `exp`, but clock leeway for `nbf`. */
function checkTimes(jwt: Jwt, nowMs: number): void {
  const { expires, notBefore } = timesOf(jwt);
  if (expires === undefined) throw new IdTokenError('times', 'the token has no expiry');
  if (timeProblem({ expires }, nowMs, 0) !== undefined) throw new IdTokenError('expired', 'the token has expired');
  if (notBefore !== undefined && timeProblem({ notBefore }, nowMs) !== undefined) {
    throw new IdTokenError('notYetValid', 'the token is not valid yet');
  }
}

function timesOf(jwt: Jwt) {
  try {
    return readTimes(jwt);
  } catch (error) {
    throw new IdTokenError('times', 'a time claim of the token is not a number', error);
  }
}

/** Expiry of a verified token, in Unix milliseconds. */
export const expiryMs = (jwt: Jwt): number => (timesOf(jwt).expires ?? Number.NEGATIVE_INFINITY) * 1000;

function checkAudience({ claims }: Jwt, accepted: readonly string[]): void {
  const claim = getOwn(claims, 'aud');
  const audiences: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
  if (!audiences.every((audience) => typeof audience === 'string')) {
    throw new IdTokenError('audience', 'the audience of the token is neither a string nor a list of strings');
  }
  if (!audiences.some((audience) => accepted.includes(audience))) {
    throw new IdTokenError('audience', 'the token is for other audiences');
  }
}
