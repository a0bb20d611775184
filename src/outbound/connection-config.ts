/** Address and credential for a server, from a kubeconfig or the environment of a pod. PEM texts are complete. */
export interface ConnectionConfig {
  /**
   * `https://host:port`, of a webhook `http:` too, with a path if the API is not served at the root. A query is used only if the URL is the
   * complete target, as for webhooks.
   */
  readonly server: URL;
  /** PEM of the CAs that the server's certificate is verified against; undefined: the operating system's. */
  readonly authorities: string | undefined;
  /** Name in the server's certificate, if it differs from the host of `server`. */
  readonly serverName: string | undefined;
  /** The server's certificate is not verified, so any server is accepted. */
  readonly insecure: boolean;
  readonly credential: CredentialSource;
  /** The impersonated user, if any (`impersonate` in spec section 5.7). */
  readonly impersonation: Impersonation | undefined;
}

/** Source of the client's credential. */
export type CredentialSource = StoredCredential | { readonly type: 'plugin'; readonly plugin: CredentialPlugin };

/** A stored credential. If empty, the client is anonymous. */
export interface StoredCredential {
  readonly type: 'stored';
  readonly certificate?: KeyPairPem;
  /** Files of the certificate and its key, which are re-read periodically since others renew them. */
  readonly certificateFiles?: KeyPairPem;
  readonly authorization?: Authorization;
}

/** A certificate, followed by its intermediates, and its private key. */
export interface KeyPairPem {
  readonly certificate: string;
  readonly key: string;
}

export type Authorization =
  | { readonly type: 'token'; readonly token: string }
  /** Re-read periodically since others renew it. `token` is used until the file can be read. */
  | { readonly type: 'tokenFile'; readonly file: string; readonly token: string | undefined }
  | { readonly type: 'basic'; readonly username: string; readonly password: string };

/** A credential plugin (spec section 5.6; KEP-541). */
export interface CredentialPlugin {
  /** apiVersion of the ExecCredential in the request and the response. */
  readonly apiVersion: string;
  /** A name to be found on the PATH, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** Shown to users who do not have the program. */
  readonly installHint: string | undefined;
  readonly interactiveMode: InteractiveMode;
  /** Cluster information for the plugin (`spec.cluster`), if requested. */
  readonly cluster: Readonly<Record<string, unknown>> | undefined;
  /** Name of the environment variable that passes the ExecCredential to the plugin. */
  readonly variable: string;
}

/** Whether a plugin may interact with the user through standard input. */
export const interactiveModes = ['Never', 'IfAvailable', 'Always'] as const;
export type InteractiveMode = (typeof interactiveModes)[number];

export interface Impersonation {
  readonly user: string;
  readonly uid: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}
