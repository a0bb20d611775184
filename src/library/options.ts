import type { PluginName } from '../admission/plugins.ts';
import type { Logger } from '../base/logger.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { FeatureName } from '../server/wiring/features.ts';
import type { KeyPairPem, StorageConfig } from '../server/wiring/storage-config.ts';

/** Options of a server, all with defaults: `{}` is an in-memory server with an administrator. */
export interface ServerOptions {
  /** The dialect of the API. Default: `orch`. */
  readonly dialect?: Dialect['name'];
  /** The store. Default: in memory, until the server closes. */
  readonly storage?: StorageConfig;
  /**
   * The certificate authority that verifies client certificates and issues the server's: for serving and for
   * kubeconfigs. Default: a new one that lasts as long as the server.
   */
  readonly authority?: KeyPairPem;
  /** Further authorities (PEM) of client certificates. */
  readonly clientAuthorities?: readonly string[];
  /** Private key (PEM) that signs service account tokens. Default: a new one that lasts as long as the server. */
  readonly tokenKey?: string;
  /** Users by bearer token. */
  readonly staticTokens?: readonly { readonly token: string; readonly user: User }[];
  /** Whether requests without credentials are served as `system:anonymous`. Default: true. */
  readonly anonymous?: boolean;
  /** Authorizers in order. Default: `Node`, `RBAC`. */
  readonly authorizers?: readonly BuiltInAuthorizer[];
  /** An AuthorizationConfiguration, JSON or YAML, instead of `authorizers`: for webhooks. */
  readonly authorizationConfiguration?: string;
  /** An AuthenticationConfiguration, JSON or YAML: for OpenID Connect. */
  readonly authenticationConfiguration?: string;
  /** Enabled admission plugins. Default: those enabled by default. */
  readonly admissionPlugins?: readonly PluginName[];
  /**
   * An AdmissionConfiguration, JSON or YAML: configurations of plugins, such as the levels of `PodSecurity`. Default: none.
   * Files that it names come from the environment, and are read once.
   */
  readonly admissionConfiguration?: string;
  /** Controllers to run, as in `--controllers`: `name`, `-name`, `*` for all others. Default: `*`. */
  readonly controllers?: readonly string[];
  /** Feature gates that differ from their defaults. */
  readonly features?: Readonly<Partial<Record<FeatureName, boolean>>>;
  /**
   * API versions to serve or not, other than by default, as in `--runtime-config`: `{ 'certificates.orch.io/v1alpha1': true }`.
   */
  readonly runtimeConfig?: Readonly<Record<string, boolean>>;
  /** Time to live of events after the last write. Milliseconds; 0: for ever. Default: one hour. */
  readonly eventTtlMs?: number;
  /** Timeout of requests other than watches. Milliseconds. Default: one minute. */
  readonly requestTimeoutMs?: number;
  /** Default: nothing is logged. */
  readonly logger?: Logger;
}

/** The identity of requests. */
export interface User {
  readonly username: string;
  /** Members of `system:masters` may do everything. */
  readonly groups?: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export type BuiltInAuthorizer = 'AlwaysAllow' | 'AlwaysDeny' | 'RBAC' | 'Node';

/** The address of a listener and its certificate. */
export interface ListenOptions {
  /** An IP address of this machine; `0.0.0.0` or `::` for all. Default: 127.0.0.1. */
  readonly address?: string;
  /** Default, or 0: a free port. */
  readonly port?: number;
  /** Additional names and addresses for the certificate. */
  readonly hosts?: readonly string[];
  /** A serving certificate with its key, instead of one issued by the authority. */
  readonly serving?: KeyPairPem;
}
