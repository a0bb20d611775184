import type { Caller } from '../base/caller.ts';
import { limits } from '../base/limits.ts';
import type { UserInfo } from '../request/user-info.ts';
import { type Authenticator, type TokenAuthenticator, type TokenIdentity, unauthorized } from './authenticator.ts';
import { firstSuccess, isUndecided } from './first-success.ts';
import { trimBlanks } from './header-decoding.ts';

/**
 * The token of an `Authorization` header (RFC 6750 section 2.1), or undefined if there is none or the scheme differs.
 * As in kube-apiserver, exactly one space precedes the token, and anything after the token is ignored. Only spaces and
 * tabs around the value are trimmed (RFC 9110 section 5.5). Throws Unauthorized if the credential is malformed, because
 * a request with a credential must never become anonymous.
 */
export function bearerToken(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const [scheme = '', token] = parts(header);
  if (scheme !== '' && !schemeName.test(scheme))
    throw unauthorized(new Error('the Authorization header does not begin with a scheme'));
  if (scheme.toLowerCase() !== 'bearer' || token === undefined) return undefined;
  if (token === '') throw unauthorized(new Error('there is more than one space before the token'));
  return token;
}

/** Warning for a client whose token is ignored because of an extra space before it, in kube-apiserver's words. */
export function bearerWarning(header: string): string | undefined {
  if (!header.includes('  ')) return undefined;
  const [scheme = '', token] = parts(header);
  if (scheme.toLowerCase() !== 'bearer' || token !== '') return undefined;
  return 'the provided Authorization header contains extra space before the bearer token, and is ignored';
}

const parts = (header: string): readonly string[] => trimBlanks(header).split(' ', 2);

/** RFC 9110 section 11.1. */
const schemeName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Tries authenticators in order: the first that returns an identity wins, an error does not stop the rest. */
export function tokenUnion(
  authenticators: readonly TokenAuthenticator[],
  ownAudiences: readonly string[],
): TokenAuthenticator {
  return {
    authenticateToken(token, audiences, caller) {
      if (token.length > limits.tokenLengthMax) throw new Error('the token is too long');
      const answer = firstSuccess(
        authenticators,
        (each) => each.authenticateToken(token, audiences, caller),
        (errors) => (errors.length === 1 ? (errors[0] as Error) : new AggregateError(errors, reasons(errors))),
        caller,
      );
      const check = (identity: TokenIdentity | undefined) => identity && meantFor(identity, audiences, ownAudiences);
      return answer instanceof Promise ? answer.then(check) : check(answer);
    },
  };
}

const reasons = (errors: readonly unknown[]): string =>
  `[${errors.map((error) => (error instanceof Error ? error.message : String(error))).join(', ')}]`;

/** A token without audiences is valid only for the API server's own audiences, whoever asks. */
function meantFor(
  identity: TokenIdentity,
  audiences: readonly string[],
  ownAudiences: readonly string[],
): TokenIdentity | undefined {
  if (identity.audiences) return identity;
  const meant = audiences.filter((audience) => ownAudiences.includes(audience));
  if (audiences.length > 0 && meant.length === 0) return undefined;
  return { ...identity, audiences: meant };
}

/** Authenticates requests by their bearer token. */
export function bearerAuthenticator(tokens: TokenAuthenticator, audiences: readonly string[]): Authenticator {
  return {
    authenticate(credentials) {
      const token = bearerToken(credentials.header('authorization'));
      return token === undefined ? undefined : tokenUser(tokens, token, audiences, credentials);
    },
  };
}

/** The user of a token that a request presents. Throws or rejects with Unauthorized if no authenticator accepts it. */
export function tokenUser(
  tokens: TokenAuthenticator,
  token: string,
  audiences: readonly string[],
  caller: Caller,
): UserInfo | Promise<UserInfo> {
  const failed = (error: unknown): never => {
    // The request ended before the token was found invalid.
    if (caller.signal.aborted) throw caller.signal.reason;
    if (isUndecided(error)) throw error;
    throw unauthorized(new Error('invalid token', { cause: error }));
  };
  let answer: ReturnType<TokenAuthenticator['authenticateToken']>;
  try {
    answer = tokens.authenticateToken(token, audiences, caller);
  } catch (error) {
    return failed(error);
  }
  return answer instanceof Promise ? answer.catch(failed).then(known) : known(answer);
}

function known(identity: TokenIdentity | undefined): UserInfo {
  if (identity) return identity.user;
  throw unauthorized(new Error('unknown token'));
}
