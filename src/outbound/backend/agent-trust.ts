import type { Closable } from '../../base/disposable.ts';
import type { Files } from '../../base/files.ts';
import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import { type FileContent, WatchedFile } from '../../base/watched-file.ts';
import { type KeyPair, type KeyPairFiles, readKeyPair } from '../../pki/key-pair-files.ts';
import { certificatesFromPem } from '../../pki/pem.ts';
import { WatchedKeyPair } from '../../pki/watched-key-pair.ts';
import type { KeyPairPem } from '../connection-config.ts';
import type { ConnectOptions } from '../network.ts';

interface AgentTrustOptions {
  /** Default: any certificate is accepted. */
  readonly authorities?: FileContent | undefined;
  /** Default: no client certificate is shown. */
  readonly client?: { readonly pair: KeyPairPem; readonly files: KeyPairFiles } | undefined;
  readonly clock: Clock;
  readonly files: Files;
  readonly logger: Logger;
}

/** What agents are verified by and shown. Files are read again when they change; an unusable one changes nothing. */
export class AgentTrust implements Closable {
  readonly #watched: Closable[] = [];
  #authorities: string | undefined;
  #client: KeyPairPem | undefined;

  constructor({ authorities, client, clock, files, logger }: AgentTrustOptions) {
    this.#authorities = authorities?.content.toString();
    this.#client = client?.pair;
    if (authorities) {
      const { path, content } = authorities;
      const apply = (changed: Buffer): void => {
        const pem = changed.toString();
        if (certificatesFromPem(pem).length === 0) throw new Error('there is no certificate in it');
        this.#authorities = pem;
      };
      const failed = (error: unknown): void =>
        logger.error('the authorities of agents stay as they are', { file: path, error });
      this.#watched.push(new WatchedFile({ path, clock, files, apply, failed }, content));
    }
    if (client) {
      const read = (): KeyPair => readKeyPair(client.files);
      const changed = ({ certificatePem: certificate, keyPem: key }: KeyPair): void => {
        this.#client = { certificate, key };
      };
      const current = { certificatePem: client.pair.certificate, keyPem: client.pair.key };
      this.#watched.push(new WatchedKeyPair({ files: client.files, read, changed, clock, logger }, current));
    }
  }

  /** For a new connection. Without authorities nothing can be verified, as published. */
  tls({ verified }: { readonly verified: boolean }): Pick<ConnectOptions, 'authorities' | 'insecure' | 'certificate'> {
    const certificate = this.#client && { certificate: this.#client };
    const authorities = this.#authorities;
    return verified && authorities !== undefined ? { authorities, ...certificate } : { insecure: true, ...certificate };
  }

  close(): void {
    for (const each of this.#watched.splice(0)) each.close();
  }
}
