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
import type { FileContent } from '../../base/watched-file.ts';
import type { ControllerName } from '../../controllers/controllers.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { TimeToLive } from '../../kinds/kind.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import type { Features } from './features.ts';
import type { KeyPairPem, StorageConfig } from './storage-config.ts';

export type { KeyPairPem, StorageConfig } from './storage-config.ts';

/**
 * All that a server needs that does not listen, as plain data: flags and files have been read, checked and put into it by
 * the command line. PEM texts are whole, never paths.
 */
export interface ApiServerConfig {
  readonly dialect: Dialect;
  readonly storage: StorageConfig;
  /** Origins whose pages may use this server: regular expressions of RE2, each checked. None: answers say nothing of them. */
  readonly allowedOrigins?: readonly string[];
  /** Where others are told that this server is: in discovery documents. Absent: where it listens. */
  readonly external?: ExternalAddress;
  readonly requests: RequestsConfig;
  readonly authentication: AuthenticationConfig;
  readonly authorization: AuthorizationConfig;
  /** `/livez` stays healthy for this long although start hooks have not finished. Milliseconds. */
  readonly livezGraceMs: number;
  /** How long requests are still served while `/readyz` already fails, after a stop was asked for. Milliseconds. */
  readonly shutdownDelayMs: number;
  /** How long objects of kinds with a time to live stay after they were last written. Milliseconds; 0: for ever. */
  readonly timesToLiveMs: Readonly<Record<TimeToLive, number>>;
  readonly features: Features;
  /** Admission plugins that run, in their order. */
  readonly admissionPlugins: readonly PluginName[];
  readonly controllers: ControllerConfig;
  readonly logger: Logger;
  /** Write a line for each request. */
  readonly accessLog: boolean;
}

/** A server that listens. */
export interface ServerConfig extends ApiServerConfig {
  readonly listen: {
    /** An IP address of this machine, `0.0.0.0` or `::` for all. */
    readonly address: string;
    /** 0 picks a free one. */
    readonly port: number;
  };
  /** The value of that header in every answer; absent: there is none. */
  readonly strictTransportSecurity?: string;
  readonly tls: TlsConfig;
  /** What the listener shows: the certificate with its intermediates behind it, and its key. */
  readonly serving: KeyPairPem;
  /** Calls back with each pair that takes its place, until it is closed. What the callback throws leaves the one before. */
  readonly followServing?: (changed: (pair: KeyPairPem) => void) => Closable;
  /**
   * Called once, when the store is open and the listener has its port, and waited for before `/readyz` first answers
   * 200: who sees a ready server finds what this leaves behind. When it fails, so does the start.
   */
  readonly beforeReady?: (listening: ListenAddress) => void | Promise<void>;
}

/** What requests may take. */
export interface RequestsConfig {
  /** Requests that are worked on at once; 0: without a limit. */
  readonly inFlightMax: { readonly reads: number; readonly writes: number };
  /** Of every request but watches. Milliseconds. */
  readonly timeoutMs: number;
  /** Watches whose client names no time end at random between this and twice this. Milliseconds. */
  readonly watchMsMin: number;
}

/** How connections are made, beside the certificate that is shown to everybody. */
export interface TlsConfig {
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** In OpenSSL's names; absent: those of the runtime. */
  readonly ciphers?: string;
  /** Certificates for clients that ask for one of their names. */
  readonly named: readonly NamedServing[];
  /** HTTP/2 requests of one connection at once. */
  readonly streamsPerConnectionMax: number;
  /** The share of HTTP/2 requests after which the client is asked to connect again. */
  readonly goawayChance: number;
}

/** A certificate for some names, and how the server learns of the ones that take its place. */
export interface NamedServing {
  readonly current: NamedPairPem;
  readonly follow: (changed: (pair: NamedPairPem) => void) => Closable;
}

export interface NamedPairPem extends KeyPairPem {
  /** In lower case; the first label may be `*`. */
  readonly names: readonly string[];
  /** The names were given: they count before those that certificates bring. */
  readonly given: boolean;
}

/** Controllers that run in the process of the server; none where another program runs them. */
interface ControllerConfig {
  readonly run: readonly ControllerName[];
  /** PEM of the authorities that clients in the cluster verify this server against. */
  readonly rootAuthority: string;
}

/** A host name or IP address, and the port where it is not that of the listener. */
export interface ExternalAddress {
  readonly host: string;
  readonly port?: number;
}

/** What a listener listens on, as the system reports it. */
export interface ListenAddress {
  readonly address: string;
  readonly port: number;
}

/** Who may come in (spec section 5). */
export interface AuthenticationConfig {
  /** Whom client certificates are verified against; absent: none are asked for. */
  readonly clientAuthorities?: AuthoritiesConfig;
  /** Proxies that say in headers whom they speak for. */
  readonly requestHeader?: {
    readonly authorities: AuthoritiesConfig;
    /** Common names that a proxy may have; empty: any. */
    readonly allowedNames: readonly string[];
    readonly names: RequestHeaderNames;
  };
  readonly staticTokens: readonly StaticToken[];
  readonly serviceAccounts?: ServiceAccountTokenOptions;
  /** The audiences by which this server identifies itself. */
  readonly apiAudiences: readonly string[];
  readonly bootstrapTokens: boolean;
  /** OpenID Connect. */
  readonly providers?:
    | { readonly type: 'flags'; readonly authenticators: readonly JwtAuthenticator[] }
    /** An AuthenticationConfiguration as it was read, which is looked at again at its path. */
    | ({ readonly type: 'file' } & FileContent);
  /** A service that reviews bearer tokens, by its connection file. */
  readonly tokenWebhook?: {
    readonly file: string;
    readonly version: TokenReviewVersion;
    /** How long its answers are kept. Milliseconds. */
    readonly cacheMs: number;
  };
  /** Whether requests without a credential are served as `system:anonymous` (spec section 5.1). */
  readonly anonymous: boolean;
  /** A flag says so, and a file may not say otherwise. */
  readonly anonymousGiven: boolean;
}

/** Authorities of clients. */
export interface AuthoritiesConfig {
  /** PEM bundles that stay as they are. */
  readonly fixed: readonly string[];
  /** A PEM bundle as it was read, which is looked at again at its path. */
  readonly file?: FileContent;
}

/** Who is asked what a user may do (spec section 5.7). */
export interface AuthorizationConfig {
  readonly chain:
    | { readonly type: 'specs'; readonly specs: readonly AuthorizerSpec[] }
    /** An AuthorizationConfiguration as it was read, which is looked at again at its path. */
    | ({ readonly type: 'file' } & FileContent);
  /** The policies of ABAC; absent where there is no file of them. */
  readonly policies?: readonly Policy[];
}

export interface RunningServer extends ListenAddress {
  /** What is served: for whatever makes resources come and go while the server runs. */
  readonly resources: ResourceRegistry;
  /**
   * Stops as design section 2 says: not ready, delay, no new connections, requests finish, watches end, store closes.
   * Resolves when all of it is done. Calling it again gives the same promise.
   */
  stop(): Promise<void>;
  /** Resolves once stopped; rejects when the server ends by itself because it cannot go on. */
  readonly done: Promise<void>;
}
