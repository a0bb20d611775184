import { createSecureContext, type SecureContext } from 'node:tls';
import type { Closable } from '../../../base/disposable.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { type KeyPairFiles, readKeyPair } from '../../../pki/key-pair-files.ts';
import { WatchedKeyPair } from '../../../pki/watched-key-pair.ts';
import { StoreError } from '../../store.ts';

/** PEM texts. Defaults: the system's certificate authorities; no client certificate. */
export interface EtcdTls {
  readonly authorities?: string;
  readonly client?: {
    readonly certificate: string;
    readonly key: string;
    /** Files that hold the pair, read again when they change. Default: the pair stays. */
    readonly files?: KeyPairFiles;
  };
}

/**
 * The secure context of connections to etcd. Node.js asks for `context` at each handshake, and so gets the client certificate
 * of the moment; connections that are open keep theirs.
 */
export class EtcdSecureContext implements SecureContext {
  readonly #tls: EtcdTls;
  #current: SecureContext;

  /** Throws StoreError `unavailable` if the material is unusable. */
  constructor(tls: EtcdTls) {
    this.#tls = tls;
    try {
      this.#current = contextOf(tls);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new StoreError('unavailable', `the TLS files for etcd cannot be used: ${reason}`, { cause });
    }
  }

  get context(): unknown {
    return this.#current.context;
  }

  /** Follows the files of the client certificate until closed. A pair that cannot be used leaves the one before. */
  follow(parts: { readonly clock: Clock; readonly logger: Logger }): Closable | undefined {
    const { authorities, client } = this.#tls;
    if (!client?.files) return undefined;
    const { certificate: certificatePem, key: keyPem, files } = client;
    const pairs = {
      read: () => readKeyPair(files),
      changed: (pair: { readonly certificatePem: string; readonly keyPem: string }) => {
        const renewed = { certificate: pair.certificatePem, key: pair.keyPem };
        this.#current = contextOf({ ...(authorities !== undefined && { authorities }), client: renewed });
      },
    };
    return new WatchedKeyPair({ ...parts, ...pairs, files }, { certificatePem, keyPem });
  }
}

const contextOf = ({ authorities, client }: EtcdTls): SecureContext =>
  createSecureContext({ ca: authorities, cert: client?.certificate, key: client?.key });
