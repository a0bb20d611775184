import type { Closable } from '../base/disposable.ts';
import type { Logger } from '../base/logger.ts';
import type { Clock } from '../base/time/clock.ts';
import { signatureWith } from './certificate-signature.ts';
import { type KeyPair, type KeyPairFiles, PkiFileError, readCertificates, readKeyPair } from './key-pair-files.ts';
import { WatchedKeyPair } from './watched-key-pair.ts';

/** A certificate authority in files that belong to somebody else: they are read again when they change. */
export class SigningAuthority implements Closable {
  #current: KeyPair;
  readonly #watched: Closable;

  /** Throws a PkiFileError if the files do not hold an authority. */
  constructor(files: KeyPairFiles, context: { readonly clock: Clock; readonly logger: Logger }) {
    const read = (): KeyPair => readAuthority(files);
    const changed = (pair: KeyPair): void => {
      this.#current = pair;
    };
    this.#current = read();
    this.#watched = new WatchedKeyPair({ ...context, files, read, changed }, this.#current);
  }

  /** The pair in use; a pair that does not match never is. */
  get current(): KeyPair {
    return this.#current;
  }

  close(): void {
    this.#watched.close();
  }
}

/** As in kube-controller-manager, the file holds one certificate: which of several signs must not depend on their order. */
function readAuthority(files: KeyPairFiles): KeyPair {
  const { length } = readCertificates(files.certificate);
  if (length !== 1) throw new PkiFileError(files.certificate, `holds ${length} certificates: expected 1 certificate`);
  const pair = readKeyPair(files);
  if (!pair.certificate.ca) throw new PkiFileError(files.certificate, 'is not the certificate of an authority');
  try {
    signatureWith(pair.privateKey);
  } catch (cause) {
    throw new PkiFileError(files.key, `cannot be used: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
  return pair;
}
