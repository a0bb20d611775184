import { limits } from '../../base/limits.ts';
import type { SignatureAlgorithm } from '../../pki/signature-algorithm.ts';
import { getOwn } from '../../schema/own-property.ts';
import type { Jwt } from '../jwt.ts';
import { headerProblem } from '../jwt-signature.ts';
import { readTimes, timeProblem } from '../jwt-times.ts';
import type { KeySet } from './key-set.ts';
import type { KeySource } from './key-source.ts';

type IdTokenProblem =
  /** The provider has not told its keys yet: nothing is known of the token. */
  | 'notReady'
  /** More tokens wait for the provider's keys than may. */
  | 'busy'
  | 'header'
  | 'algorithm'
  | 'times'
  | 'expired'
  | 'notYetValid'
  | 'audience'
  | 'signature'
  /** A claim that stands elsewhere could not be had. */
  | 'distributedClaim';

/** A token of a configured issuer that does not hold. Nothing of the token stands in the message. */
export class IdTokenError extends Error {
  readonly code: IdTokenProblem;

  constructor(code: IdTokenProblem, message: string, cause?: unknown) {
    super(`openid connect: ${message}`, cause === undefined ? {} : { cause });
    this.name = 'IdTokenError';
    this.code = code;
  }
}

/** What tokens of an issuer must be like. */
export interface IdTokenRules {
  readonly algorithms: readonly SignatureAlgorithm[];
  readonly audiences: readonly string[];
}

/** The name that this issuer has in some of its tokens, and in others (OpenID Connect Core section 15.6.2). */
const namedWithoutScheme = { short: 'accounts.google.com', full: 'https://accounts.google.com' } as const;

/** Who says to have issued the token. Not to be trusted: it only tells whose keys to look at. */
export function claimedIssuer({ claims }: Jwt): string | undefined {
  const issuer = getOwn(claims, 'iss');
  if (issuer === namedWithoutScheme.short) return namedWithoutScheme.full;
  return typeof issuer === 'string' ? issuer : undefined;
}

/**
 * Verifies a token of the issuer whose keys these are (OpenID Connect Core section 3.1.3.7). What needs no key comes
 * first, so that hopeless tokens never cause a fetch. Returns at once unless the keys have to be fetched again; throws, or
 * rejects with, an IdTokenError.
 */
export function verifyIdToken(jwt: Jwt, source: KeySource, rules: IdTokenRules, nowMs: number): void | Promise<void> {
  checkHeader(jwt, rules.algorithms);
  checkTimes(jwt, nowMs);
  checkAudience(jwt, rules.audiences);
  const { keys } = source;
  if (!keys) return verifyWithFirst(jwt, source);
  if (keys.hasSigned(jwt)) return;
  // The key may be new, or a new one under an old name.
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
  if (waiting >= limits.oidcWaitingMax) throw new IdTokenError('busy', 'too many tokens wait for new keys');
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

/** As published servers do: its end is meant to the second, its beginning may be a little ahead of our clock. */
function checkTimes(jwt: Jwt, nowMs: number): void {
  const { expires, notBefore } = timesOf(jwt);
  if (expires === undefined) throw new IdTokenError('times', 'the token has no end');
  if (timeProblem({ expires }, nowMs, 0) !== undefined) throw new IdTokenError('expired', 'the token has expired');
  if (notBefore !== undefined && timeProblem({ notBefore }, nowMs) !== undefined) {
    throw new IdTokenError('notYetValid', 'the token is not valid yet');
  }
}

function timesOf(jwt: Jwt) {
  try {
    return readTimes(jwt);
  } catch (error) {
    throw new IdTokenError('times', 'a time of the token is not a number', error);
  }
}

/** The last moment of a token that has been verified, in Unix milliseconds. */
export const lastMoment = (jwt: Jwt): number => (timesOf(jwt).expires ?? Number.NEGATIVE_INFINITY) * 1000;

function checkAudience({ claims }: Jwt, accepted: readonly string[]): void {
  const claim = getOwn(claims, 'aud');
  const audiences: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
  if (!audiences.every((audience) => typeof audience === 'string')) {
    throw new IdTokenError('audience', 'the audience of the token is neither a string nor a list of strings');
  }
  if (!audiences.some((audience) => accepted.includes(audience))) {
    throw new IdTokenError('audience', 'the token is meant for others');
  }
}
