import type { X509Certificate } from 'node:crypto';
import type { Caller } from '../base/caller.ts';
import { StatusError } from '../meta/status-error.ts';
import { anonymousUser, groupAuthenticated, groupUnauthenticated, type UserInfo } from '../request/user-info.ts';

/** The credentials of a request. Extends Caller, whose signal aborts when the request ends. */
export interface Credentials extends Caller {
  readonly peer: {
    /**
     * Client certificate, verified by the listener against the authorities of all trust pools; each authenticator must
     * still check it against its own pool. The same object for every request of a connection.
     */
    readonly certificate: X509Certificate | undefined;
    /** Set if the client presented a certificate that could not be verified. */
    readonly certificateError?: unknown;
  };
  /** The ID that log lines about the request carry. */
  readonly auditId?: string | undefined;
  /** Path and query as sent. */
  readonly target: string;
  /** Set if the request asks for an upgrade to WebSocket. */
  readonly webSocket?: object | undefined;
  /** Value of a request header by its lower-case name; multiple lines are joined by ', '. */
  header(name: string): string | undefined;
  /** All values of a header, one per line. */
  headerLines(name: string): readonly string[];
  /** Names of all request headers, in lower case. */
  headerNames(): readonly string[];
}

/** Authenticates requests by one kind of credential. */
export interface Authenticator {
  /**
   * Returns undefined if the request has no credential of this kind. Throws or rejects with an Unauthorized StatusError
   * if the credential is invalid.
   */
  authenticate(credentials: Credentials): UserInfo | undefined | Promise<UserInfo | undefined>;
}

/** The user that a token identifies. */
export interface TokenIdentity {
  readonly user: UserInfo;
  /**
   * The requested audiences for which the token is valid. Absent if tokens of this kind have no audiences: they are
   * valid for the API server itself.
   */
  readonly audiences?: readonly string[];
}

/** Authenticates bearer tokens. */
export interface TokenAuthenticator<Identity extends TokenIdentity = TokenIdentity> {
  /**
   * Returns undefined if the token is not of this kind. Throws or rejects if it is of this kind but invalid; the error
   * gives the reason and never contains the token. `audiences`: the token must be valid for at least one of them; for
   * requests `--api-audiences`, for a TokenReview those in its spec. Remote calls end, and the promise rejects, when
   * the caller's signal aborts.
   */
  authenticateToken(
    token: string,
    audiences: readonly string[],
    caller?: Caller,
  ): Identity | undefined | Promise<Identity | undefined>;
}

/**
 * Response to an invalid credential (spec section 7, 401). The client does not get the reason; `cause` is for the log
 * and must not contain the credential. RFC 9110 section 15.5.2 requires the challenge.
 */
export const unauthorized = (cause: unknown): StatusError =>
  new StatusError('Unauthorized', 'Unauthorized', { cause, headers: { 'www-authenticate': 'Bearer' } });

/** The cause of the response to a request without any credential, where nobody may be anonymous. */
export class NoCredential extends Error {
  constructor() {
    super('no credential was presented');
    this.name = 'NoCredential';
  }
}

/**
 * Adds the group of authenticated users (spec section 5.1), except to an anonymous user that a front proxy asserted.
 */
export function asAuthenticated(user: UserInfo): UserInfo {
  const { username, groups } = user;
  if (groups.includes(groupAuthenticated) || groups.includes(groupUnauthenticated)) return user;
  if (username === anonymousUser.username) return user;
  return { ...user, groups: [...groups, groupAuthenticated] };
}
