import type { PluginName } from '../admission/plugins.ts';
import type { Logger } from '../base/logger.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { FeatureName } from '../server/wiring/features.ts';
import type { KeyPairPem, StorageConfig } from '../server/wiring/storage-config.ts';

/** How a server is set up. Every option has a default: `{}` is a server in memory with an administrator. */
export interface ServerOptions {
  /** The names that the API carries. Absent: `orch`. */
  readonly dialect?: Dialect['name'];
  /** Where objects are kept. Absent: in memory, for as long as the server is open. */
  readonly storage?: StorageConfig;
  /**
   * The authority that client certificates are verified by, and that signs those which the server makes: its own, and those
   * of connection files. Absent: one is made, that ends with the server.
   */
  readonly authority?: KeyPairPem;
  /** Authorities (PEM) of other client certificates. */
  readonly clientAuthorities?: readonly string[];
  /** Private key (PEM) that signs tokens of service accounts. Absent: one is made, that ends with the server. */
  readonly tokenKey?: string;
  /** Users by the bearer tokens that they show. */
  readonly staticTokens?: readonly { readonly token: string; readonly user: User }[];
  /** Whether requests without a credential are served, as `system:anonymous`. Absent: true. */
  readonly anonymous?: boolean;
  /** Who is asked what a user may do, in this order. Absent: `Node`, `RBAC`. */
  readonly authorizers?: readonly BuiltInAuthorizer[];
  /** An AuthorizationConfiguration, JSON or YAML, in place of `authorizers`: for webhooks. */
  readonly authorizationConfiguration?: string;
  /** An AuthenticationConfiguration, JSON or YAML: for OpenID Connect. */
  readonly authenticationConfiguration?: string;
  /** Admission plugins that run. Absent: the default ones. */
  readonly admissionPlugins?: readonly PluginName[];
  /** Controllers that run, in the form of the flag: `name`, `-name`, `*` for all that are not named. Absent: all. */
  readonly controllers?: readonly string[];
  /** Feature gates that are not as by default. */
  readonly features?: Readonly<Partial<Record<FeatureName, boolean>>>;
  /** How long events stay after they were last written. Milliseconds; 0: for ever. Absent: an hour. */
  readonly eventTtlMs?: number;
  /** What a request other than a watch may take. Milliseconds. Absent: a minute. */
  readonly requestTimeoutMs?: number;
  /** Absent: nothing is logged. */
  readonly logger?: Logger;
}

/** Who requests are from. */
export interface User {
  readonly username: string;
  /** Members of `system:masters` may do everything. */
  readonly groups?: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export type BuiltInAuthorizer = 'AlwaysAllow' | 'AlwaysDeny' | 'RBAC' | 'Node';

/** Where a server listens. */
export interface ListenOptions {
  /** An IP address of this machine, `0.0.0.0` or `::` for all. Absent: 127.0.0.1. */
  readonly address?: string;
  /** Absent or 0: a free one. */
  readonly port?: number;
  /** Names and addresses, beside those of the machine, that the certificate shall have. */
  readonly hosts?: readonly string[];
  /** A certificate of your own, and its key, instead of one that the authority signs. */
  readonly serving?: KeyPairPem;
}
