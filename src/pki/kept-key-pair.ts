import type { Clock } from '../base/clock.ts';
import type { Closable } from '../base/disposable.ts';
import { systemFiles } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { WatchedFiles } from '../base/watched-file.ts';
import type { KeyPair, KeyPairFiles } from './key-pair-files.ts';

interface KeptKeyPairOptions {
  readonly files: KeyPairFiles;
  /** Reads the pair, and renews it where that is due. Throws where what is there cannot be used. */
  readonly read: () => KeyPair;
  /** Called with each pair that takes the place of the one before. Where it throws, the one before stays. */
  readonly changed: (pair: KeyPair) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * A certificate and its key in files, while a program runs with them. Files that change are read again; a pair that does not
 * belong together, or cannot be used, leaves the one before in force and is logged. From time to time the pair is read
 * anew all the same, so that one which is to be renewed is.
 */
export class KeptKeyPair implements Closable {
  readonly #options: KeptKeyPairOptions;
  readonly #watched: WatchedFiles;
  #current: Pick<KeyPair, 'certificatePem' | 'keyPem'>;
  #problem = '';
  #timer: Closable;

  /** `current` is what was read before. */
  constructor(options: KeptKeyPairOptions, current: Pick<KeyPair, 'certificatePem' | 'keyPem'>) {
    const { files, clock } = options;
    this.#options = options;
    this.#current = current;
    this.#watched = new WatchedFiles(
      {
        paths: [files.certificate, files.key],
        clock,
        // `read` does not look elsewhere either.
        files: systemFiles,
        apply: () => this.#read(),
        failed: (error) => this.#failed(error),
      },
      [Buffer.from(current.certificatePem), Buffer.from(current.keyPem)],
    );
    this.#timer = this.#schedule();
  }

  #schedule(): Closable {
    return this.#options.clock.after(limits.certificateCheckMs, () => {
      this.#timer = this.#schedule();
      this.#read();
    });
  }

  /** Both files are read again: what was seen of them may be older than what is there now. */
  #read(): void {
    const { files, read, changed, logger } = this.#options;
    try {
      const pair = read();
      this.#problem = '';
      const { certificatePem, keyPem } = this.#current;
      if (pair.certificatePem === certificatePem && pair.keyPem === keyPem) return;
      changed(pair);
      this.#current = pair;
      logger.info('a certificate was replaced', { file: files.certificate, until: pair.certificate.validTo });
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    const problem = String(error);
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.logger.error('a certificate stays as it is', { file: this.#options.files.certificate, error });
  }

  close(): void {
    this.#timer.close();
    this.#watched.close();
  }
}
