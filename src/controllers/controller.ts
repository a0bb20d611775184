import type { Clock } from '../base/clock.ts';
import type { Closable } from '../base/disposable.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { ApiClient } from '../client/api-client.ts';
import type { Dialect } from '../dialect/dialect.ts';

/** What every controller works with. */
export interface ControllerContext {
  /** Does the controller's work, as its own account where it has one. */
  readonly client: ApiClient;
  /** Lists and watches for controllers whose account may only write: as published, controllers share what is read. */
  readonly reader: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly dialect: Dialect;
  /**
   * Calls the listener with the groups of which something came to be served or went, until it is closed. Absent where the
   * server is another process: discovery is then asked from time to time.
   */
  readonly onGroupsChanged?: (listener: (groups: ReadonlySet<string>) => void) => Closable;
  /** PEM of what programs in the cluster verify the API server against. */
  readonly rootAuthority: string;
  /** Absent where there is no key to sign tokens of service accounts with. */
  readonly signSecretToken?: SecretTokenSigner;
}

/** Makes the token of a service account that is kept in that Secret of its namespace. */
export type SecretTokenSigner = (
  account: { readonly namespace: string; readonly name: string; readonly uid: string },
  secretName: string,
) => string | Promise<string>;
