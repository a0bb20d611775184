/** How to reach a server and as whom, as a connection file or the environment of a pod says. PEM texts are whole. */
export interface Connection {
  /**
   * `https://host:port`, and a path where the API does not begin at the root. A query counts only where the URL is all
   * of what is asked for, as for webhooks.
   */
  readonly server: URL;
  /** PEM of what the server's certificate is verified against; undefined: what the system trusts. */
  readonly authorities: string | undefined;
  /** The name that the server's certificate has, where it is not the host of `server`. */
  readonly serverName: string | undefined;
  /** The server's certificate is not verified: anybody can be the server. */
  readonly insecure: boolean;
  readonly credential: CredentialSource;
  /** Who the requests are to count as, where that is somebody else (`impersonate` in spec section 5.7). */
  readonly impersonation: Impersonation | undefined;
}

/** Where that comes from which says who a client is. */
export type CredentialSource = StoredCredential | { readonly type: 'plugin'; readonly plugin: CredentialPlugin };

/** What was stored for us. Nothing at all: the client is anonymous. */
export interface StoredCredential {
  readonly type: 'stored';
  readonly certificate?: KeyPairPem;
  /** Where that certificate and its key were read. They are read again from time to time: others renew them. */
  readonly certificateFiles?: KeyPairPem;
  readonly authorization?: Authorization;
}

/** A certificate, and intermediate ones after it, with its private key. */
export interface KeyPairPem {
  readonly certificate: string;
  readonly key: string;
}

export type Authorization =
  | { readonly type: 'token'; readonly token: string }
  /** Read again from time to time: others renew it. `token` counts until the file could be read. */
  | { readonly type: 'tokenFile'; readonly file: string; readonly token: string | undefined }
  | { readonly type: 'basic'; readonly username: string; readonly password: string };

/** A program that is asked for a credential (spec section 5.6; KEP-541). */
export interface CredentialPlugin {
  /** Of the ExecCredential that it is given and that it answers with. */
  readonly apiVersion: string;
  /** A name that is looked for on the PATH, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  /** Beside the environment of this process. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** For people who don't have the program. */
  readonly installHint: string | undefined;
  readonly interactiveMode: InteractiveMode;
  /** What it is told of the server (`spec.cluster`), where it is to be told. */
  readonly cluster: Readonly<Record<string, unknown>> | undefined;
  /** The environment variable that holds the ExecCredential it is given. */
  readonly variable: string;
}

/** Whether a plugin may speak with people through standard input. */
export const interactiveModes = ['Never', 'IfAvailable', 'Always'] as const;
export type InteractiveMode = (typeof interactiveModes)[number];

export interface Impersonation {
  readonly user: string;
  readonly uid: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}
