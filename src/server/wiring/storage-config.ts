import type { Worker } from 'node:worker_threads';

/** A certificate with its chain, and its private key. */
export interface KeyPairPem {
  readonly certificate: string;
  readonly key: string;
}

/** Where the objects of a resource are kept. */
export interface EtcdOverride {
  /** '' for the core group. */
  readonly group: string;
  /** `*` for all of the group. */
  readonly resource: string;
  readonly endpoints: readonly string[];
}

/** The store, by the values of `--storage-backend`. */
export type StorageConfig =
  | { readonly backend: 'memory' }
  | {
      readonly backend: 'sqlite';
      /** Path of the database; its directory must exist. */
      readonly file: string;
      /** See `LogFileOptions`. Set where values are encrypted. */
      readonly erase?: boolean;
      /** Gives the thread that owns the file. Default: one is started. */
      readonly startWorker?: () => Worker;
    }
  | {
      readonly backend: 'etcd3';
      /** `https://host:port`; tried in turn. */
      readonly endpoints: readonly string[];
      /** Prefix of every key; begins with `/`, without one at the end: `/registry`. */
      readonly prefix: string;
      /** Servers of built-in resources that are kept elsewhere, with the same prefix and TLS. Default: all are here. */
      readonly overrides?: readonly EtcdOverride[];
      /** How long history stays. Milliseconds; 0: this server does not compact. Default: `limits.historyMs`. */
      readonly compactionMs?: number;
      /** PEM contents; absent with `http` endpoints. */
      readonly tls?: {
        readonly authorities?: string;
        readonly client?: KeyPairPem & {
          /** Files that hold the pair, read again when they change. Default: the pair stays. */
          readonly files?: { readonly certificate: string; readonly key: string };
        };
      };
    };
