import type { PluginConfigurations } from '../../admission/plugins/plugin-configurations.ts';
import type { PluginName } from '../../admission/plugins.ts';
import type { RequestHeaderNames } from '../../authn/identity-headers.ts';
import type { JwtAuthenticator } from '../../authn/oidc/jwt-authenticator.ts';
import type { ServiceAccountTokenOptions } from '../../authn/service-account/options.ts';
import type { StaticToken } from '../../authn/static-token.ts';
import type { TokenReviewVersion } from '../../authn/webhook/webhook-token.ts';
import type { Policy } from '../../authz/abac/policy.ts';
import type { AuthorizerSpec } from '../../authz/configuration/authorizer-spec.ts';
import type { Closable } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { Metrics, MetricsOptions } from '../../base/metrics.ts';
import type { FileContent } from '../../base/watched-file.ts';
import type { CacheSharing } from '../../cache/sharing/shared-entries.ts';
import type { CertificateSigning } from '../../controllers/certificate-signing.ts';
import type { ControllerName } from '../../controllers/controllers.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ConnectionSpread } from '../../http/listener.ts';
import type { ServiceRanges } from '../../kinds/core/service/service-pools.ts';
import type { TimeToLive } from '../../kinds/kind.ts';
import type { AgentSettings } from '../../kinds/services.ts';
import type { TracingSettings } from '../../outbound/tracing/tracing-configuration.ts';
import type { KeyPairFiles } from '../../pki/key-pair-files.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import type { RuntimeConfig } from '../../resources/runtime-config.ts';
import type { WebhookUsers } from '../admission/webhook-connections.ts';
import type { Lead } from '../upkeep/lead.ts';
import type { AuditConfig } from './audit.ts';
import type { EncryptionConfig } from './encryption.ts';
import type { Features, WholeStage } from './features.ts';
import type { KeyPairPem, StorageConfig } from './storage-config.ts';

export type { EtcdOverride, KeyPairPem, StorageConfig } from './storage-config.ts';

/**
 * Configuration of a server without its listener, as plain data: the command line has read and validated flags and
 * files. PEM fields hold contents, never paths.
 */
export interface ApiServerConfig {
  readonly dialect: Dialect;
  readonly storage: StorageConfig;
  /** How long `/healthz` and `/readyz` wait for the store. Milliseconds; default: `limits.storeHealthWaitMs`. */
  readonly storeChecks?: { readonly healthMs?: number; readonly readyMs?: number };
  /** Metrics about the contents of the store that are left out. Default: none. */
  readonly storageMetricsOff?: { readonly objects?: boolean; readonly size?: boolean };
  /** Default: values are stored as they are. */
  readonly encryption?: EncryptionConfig;
  /**
   * Origins whose pages may use this server: validated RE2 regular expressions. Default: none, and no CORS headers are
   * sent.
   */
  readonly allowedOrigins?: readonly string[];
  /** The address published in discovery documents. Default: the listener's. */
  readonly external?: ExternalAddress;
  readonly requests: RequestsConfig;
  readonly authentication: AuthenticationConfig;
  readonly authorization: AuthorizationConfig;
  /** Grace period in which `/livez` stays healthy although start hooks have not finished. Milliseconds. */
  readonly livezGraceMs: number;
  /** After a stop request, how long requests are served while `/readyz` already fails. Milliseconds. */
  readonly shutdownDelayMs: number;
  /** Time to live after the last write for objects of kinds that have one. Milliseconds; 0: for ever. */
  readonly timesToLiveMs: Readonly<Record<TimeToLive, number>>;
  readonly features: Features;
  /** Stages whose features were switched on as a whole: shown in the metric of gates. Default: none. */
  readonly wholeStages?: ReadonlySet<WholeStage>;
  /** Addresses and ports of nodes that services are given. Default: those of kube-apiserver. */
  readonly serviceRanges?: ServiceRanges;
  /** Validated by `checkRuntimeConfig`. */
  readonly runtimeConfig: RuntimeConfig;
  /** Enabled admission plugins, in order. */
  readonly admissionPlugins: readonly PluginName[];
  /** Default: that of kube-apiserver. */
  readonly pluginConfigurations?: PluginConfigurations;
  /** Credentials for admission webhooks. Default: they are called anonymously. */
  readonly webhookUsers?: WebhookUsers;
  readonly controllers: ControllerConfig;
  /** Also make the roles and bindings by which nodes join with bootstrap tokens. Default: false. */
  readonly joinPolicy?: boolean;
  readonly logger: Logger;
  /** Given the metrics of each page: has them show what all servers of this process count. Default: there is one. */
  readonly shareMetrics?: (own: Metrics) => void;
  /** Default: the server leads. */
  readonly lead?: Lead;
  /** Default: no other thread has a cache of the store. */
  readonly sharing?: CacheSharing;
  /** Default: requests are not audited. */
  readonly audit?: AuditConfig;
  /** Default: requests are not traced. */
  readonly tracing?: TracingSettings;
  /** What is shown of the metrics. Default: all. */
  readonly metrics?: MetricsOptions;
  /** The agents of nodes. Default: those of `defaultAgents`. */
  readonly agents?: AgentsConfig;
  /** Receives a line for each request. Default: none does. */
  readonly accessLog?: Logger | undefined;
}

/** Configuration of a server that listens. */
export interface ServerConfig extends ApiServerConfig {
  readonly listen: {
    /** An IP address of this machine; `0.0.0.0` or `::` for all. */
    readonly address: string;
    /** 0 picks a free port. */
    readonly port: number;
  };
  /** Listen only when the server is ready; it then makes nothing that depends on its address before. Default: false. */
  readonly listensReady?: boolean;
  /** Present if other servers of this process listen on the same port. */
  readonly spread?: ConnectionSpread;
  /** Value of the `Strict-Transport-Security` header of every answer. Default: not sent. */
  readonly strictTransportSecurity?: string;
  readonly tls: TlsConfig;
  /** The serving certificate followed by its intermediates, and its key. */
  readonly serving: KeyPairPem;
  /** Calls back with each replacement of the pair until closed. If the callback throws, the current pair stays. */
  readonly followServing?: (changed: (pair: KeyPairPem) => void) => Closable;
  /** The service by which pods reach the API. Default: there is none. */
  readonly apiService?: {
    /** Address of this server for its endpoints. Undefined, or a loopback one: it has none. */
    readonly address: string | undefined;
    /** Port of every node that leads to it; 0: none. */
    readonly nodePort: number;
  };
  /** Connection data to publish in `cluster-info`. Default: none is published. */
  readonly clusterInfo?: ClusterInfoConfig;
  /**
   * Called once, when the store is open and the listener has its port. `/readyz` first answers 200 after it resolves,
   * so that clients of a ready server find what it has written. If it fails, so does the start.
   */
  readonly beforeReady?: (listening: ListenAddress) => void | Promise<void>;
}

/** Connection data for clients that do not know the cluster yet. */
interface ClusterInfoConfig {
  /** A kubeconfig without a user, for clients of the listener. */
  readonly kubeconfig: (listening: ListenAddress) => string;
  /** Calls back when the kubeconfig may have changed, until closed. */
  readonly follow: (changed: () => void) => Closable;
}

/** Limits of requests. */
export interface RequestsConfig {
  /** Maximum of concurrent requests; 0: no limit. */
  readonly inFlightMax: { readonly reads: number; readonly writes: number };
  /** Timeout of every request except watches. Milliseconds. */
  readonly timeoutMs: number;
  /** Watches without `timeoutSeconds` end at a random time between this and twice this. Milliseconds. */
  readonly watchMsMin: number;
}

/** TLS and HTTP/2 settings other than the default certificate. */
export interface TlsConfig {
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL names. Default: those of the runtime. */
  readonly ciphers?: string;
  /** SNI certificates. */
  readonly named: readonly NamedServing[];
  /** Maximum of concurrent HTTP/2 requests on one connection. */
  readonly streamsPerConnectionMax: number;
  /** Fraction of HTTP/2 requests after which the client is told to reconnect (GOAWAY). */
  readonly goawayChance: number;
}

/** An SNI certificate and the subscription to its replacements. */
export interface NamedServing {
  readonly current: NamedPairPem;
  readonly follow: (changed: (pair: NamedPairPem) => void) => Closable;
}

export interface NamedPairPem extends KeyPairPem {
  /** In lower case; the first label may be `*`. */
  readonly names: readonly string[];
  /** The names were configured: they take precedence over names taken from certificates. */
  readonly given: boolean;
}

/** Controllers to run in the server's process; none if another program runs them. */
interface ControllerConfig {
  readonly run: readonly ControllerName[];
  /** PEM bundle with which clients in the cluster verify this server. */
  readonly rootAuthority: string;
  /** Number of nodes that `simulated-nodes` registers. Default: that of the controller. */
  readonly simulatedNodes?: number | undefined;
  /** Default: certificates are not signed. */
  readonly certificateSigning?: CertificateSigning;
}

/** How the agents of nodes are reached (`--kubelet-*`). */
export interface AgentsConfig extends AgentSettings {
  /** A PEM bundle as first read, and its path, which is watched for changes. Default: any certificate is accepted. */
  readonly authorities?: FileContent;
  /** The client certificate, and its files, which are watched for changes. Default: none is shown. */
  readonly client?: { readonly pair: KeyPairPem; readonly files: KeyPairFiles };
  /** What connecting to an agent may take. Milliseconds. */
  readonly timeoutMs: number;
}

/** Those of kube-apiserver. */
export const defaultAgents: AgentsConfig = {
  addressTypes: ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'],
  port: 10_250,
  timeoutMs: 5_000,
};

/** A host name or IP address, and the port if it differs from the listener's. */
export interface ExternalAddress {
  readonly host: string;
  readonly port?: number;
}

/** The bound address, as reported by the operating system. */
export interface ListenAddress {
  readonly address: string;
  readonly port: number;
}

/** Configuration of authentication (spec section 5). */
export interface AuthenticationConfig {
  /** Authorities of client certificates. Default: none are requested. */
  readonly clientAuthorities?: AuthoritiesConfig;
  /** Authenticating proxies, which name their users in headers. */
  readonly requestHeader?: {
    readonly authorities: AuthoritiesConfig;
    /** Allowed common names of proxies; empty: any. */
    readonly allowedNames: readonly string[];
    readonly names: RequestHeaderNames;
  };
  readonly staticTokens: readonly StaticToken[];
  readonly serviceAccounts?: ServiceAccountTokenOptions;
  /** Audiences of this server. */
  readonly apiAudiences: readonly string[];
  readonly bootstrapTokens: boolean;
  /** OpenID Connect. */
  readonly providers?:
    | { readonly type: 'flags'; readonly authenticators: readonly JwtAuthenticator[] }
    /** An AuthenticationConfiguration as first read, and its path, which is watched for changes. */
    | ({ readonly type: 'file' } & FileContent);
  /** A token review webhook, by its kubeconfig file. */
  readonly tokenWebhook?: {
    readonly file: string;
    readonly version: TokenReviewVersion;
    /** How long answers are cached. Milliseconds. */
    readonly cacheMs: number;
  };
  /** Whether requests without credentials are served as `system:anonymous` (spec section 5.1). */
  readonly anonymous: boolean;
  /** True if the flag was given: the configuration file must not override it. */
  readonly anonymousGiven: boolean;
}

/** Certificate authorities of clients. */
export interface AuthoritiesConfig {
  /** PEM bundles that never change. */
  readonly fixed: readonly string[];
  /** A PEM bundle as first read, and its path, which is watched for changes. */
  readonly file?: FileContent;
}

/** Configuration of authorization (spec section 5.7). */
export interface AuthorizationConfig {
  readonly chain:
    | { readonly type: 'specs'; readonly specs: readonly AuthorizerSpec[] }
    /** An AuthorizationConfiguration as first read, and its path, which is watched for changes. */
    | ({ readonly type: 'file' } & FileContent);
  /** ABAC policies; absent without a policy file. */
  readonly policies?: readonly Policy[];
}

export interface RunningServer extends ListenAddress {
  /** The served resources, for code that adds or removes some at run time. */
  readonly resources: ResourceRegistry;
  /**
   * Stops in the order of design section 2: not ready, delay, no new connections, requests finish, watches end, store
   * closes. Resolves when done. Further calls return the same promise.
   */
  stop(): Promise<void>;
  /** Resolves once stopped; rejects if the server stops because it cannot go on. */
  readonly done: Promise<void>;
}
