import type { Closable } from '../../base/disposable.ts';
import type { Authorization, KeyPairPem } from '../connection.ts';

/** What goes with a request to say who sends it. */
export interface Credential {
  /** The header of that name. */
  readonly authorization?: string;
  /** Shown when the connection is made. */
  readonly certificate?: KeyPairPem;
}

/** Where the credential of each request comes from. */
export interface Credentials extends Closable {
  /** What counts now; the same object for as long as it does. Rejects where there is none, and says why. */
  current(): Promise<Credential>;
  /**
   * The server answered 401 to a request with `credential`. Resolves to another one, with which the request is worth
   * sending again, or undefined. Rejects where a new one was wanted and could not be had.
   */
  refused(credential: Credential): Promise<Credential | undefined>;
}

/** One credential that never changes. */
export const fixedCredentials = (credential: Credential): Credentials => ({
  current: async () => credential,
  refused: async () => undefined,
  close() {},
});

/** RFC 6750 section 2.1. */
export const bearer = (token: string): string => `Bearer ${token}`;

/** RFC 7617 section 2, in UTF-8. */
export const basic = ({ username, password }: Extract<Authorization, { type: 'basic' }>): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
