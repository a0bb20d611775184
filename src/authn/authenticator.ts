import type { X509Certificate } from 'node:crypto';
import type { Caller } from '../base/caller.ts';
import { StatusError } from '../meta/status-error.ts';
import { anonymousUser, groupAuthenticated, groupUnauthenticated, type UserInfo } from '../request/user-info.ts';

/** What a request shows of who sends it; and the request itself, for which the answer is no longer wanted when it has ended. */
export interface Credentials extends Caller {
  readonly peer: {
    /**
     * Verified against all authorities that the listener knows; whether it is for this authenticator is for its pool to
     * tell. The same object for every request of a connection.
     */
    readonly certificate: X509Certificate | undefined;
    /** Set where the client showed a certificate that could not be verified. */
    readonly certificateError?: unknown;
  };
  /** Path and query as they were sent. */
  readonly target: string;
  /** Set where the request asks to become a WebSocket. */
  readonly webSocket?: object | undefined;
  /** A request header by its lower-case name; several lines are joined by ', '. */
  header(name: string): string | undefined;
  /** All values of a header, one for each line. */
  headerLines(name: string): readonly string[];
  /** Names of all request headers, in lower case. */
  headerNames(): readonly string[];
}

/** Tells who sends a request by one kind of credential. */
export interface Authenticator {
  /**
   * Undefined where the request has no credential of this kind. Throws, or rejects with, an Unauthorized StatusError
   * where it has one that does not hold.
   */
  authenticate(credentials: Credentials): UserInfo | undefined | Promise<UserInfo | undefined>;
}

/** Whose a token is. */
export interface TokenIdentity {
  readonly user: UserInfo;
  /**
   * Which of the audiences that were asked for the token is meant for. Absent where tokens of this kind have no
   * audience: they are for the API server itself.
   */
  readonly audiences?: readonly string[];
}

/** Tells whose a bearer token is. */
export interface TokenAuthenticator<Identity extends TokenIdentity = TokenIdentity> {
  /**
   * Undefined where the token is not of this kind. Throws, or rejects, where it is and does not hold; the error tells why
   * and never contains the token. `audiences`: the recipients on whose behalf is asked, of which one must be meant; for
   * requests those of the API server (`--api-audiences`), for a TokenReview those it names. What is asked of others for the
   * answer ends with the caller; then it rejects, too.
   */
  authenticateToken(
    token: string,
    audiences: readonly string[],
    caller?: Caller,
  ): Identity | undefined | Promise<Identity | undefined>;
}

/**
 * The answer to a credential that does not hold (spec section 7, 401). The client is not told why; `cause` is for the
 * log and must not contain the credential. The challenge is what RFC 9110 section 15.5.2 demands.
 */
export const unauthorized = (cause: unknown): StatusError =>
  new StatusError('Unauthorized', 'Unauthorized', { cause, headers: { 'www-authenticate': 'Bearer' } });

/**
 * The user as a member of the group of all that were authenticated (spec section 5.1). An anonymous one, of whom a proxy
 * told, stays one.
 */
export function asAuthenticated(user: UserInfo): UserInfo {
  const { username, groups } = user;
  if (groups.includes(groupAuthenticated) || groups.includes(groupUnauthenticated)) return user;
  if (username === anonymousUser.username) return user;
  return { ...user, groups: [...groups, groupAuthenticated] };
}
