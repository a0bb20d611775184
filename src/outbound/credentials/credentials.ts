import type { Closable } from '../../base/disposable.ts';
import type { Authorization, KeyPairPem } from '../connection-config.ts';

/** The credential that a request is sent with. */
export interface Credential {
  /** Value of the Authorization header. */
  readonly authorization?: string;
  /** Client certificate, presented when a connection is opened. */
  readonly certificate?: KeyPairPem;
}

/** Provides the credential of each request. */
export interface Credentials extends Closable {
  /** The current credential; the same object as long as it is unchanged. Rejects with the reason if there is none. */
  current(): Promise<Credential>;
  /**
   * Called after a 401 to a request with `credential`. Resolves to a different credential with which to retry, or
   * undefined. Rejects if a new one was needed and could not be obtained.
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
