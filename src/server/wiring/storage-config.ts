/** A certificate, with its chain, and the private key that belongs to it. */
export interface KeyPairPem {
  readonly certificate: string;
  readonly key: string;
}

/** Which store, by the names of `--storage-backend`. */
export type StorageConfig =
  | { readonly backend: 'memory' }
  | {
      readonly backend: 'sqlite';
      /** Path of the database; its directory exists. */
      readonly file: string;
    }
  | {
      readonly backend: 'etcd3';
      /** `https://host:port`; each is tried. */
      readonly endpoints: readonly string[];
      /** Before every key, begins with `/` and has none at its end: `/registry`. */
      readonly prefix: string;
      /** PEM texts; absent with `http` endpoints. */
      readonly tls?: {
        readonly authorities?: string;
        readonly client?: KeyPairPem;
      };
    };
