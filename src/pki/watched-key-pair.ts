import type { Closable } from '../base/disposable.ts';
import { systemFiles } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Clock } from '../base/time/clock.ts';
import { WatchedFiles } from '../base/watched-file.ts';
import type { KeyPair, KeyPairFiles } from './key-pair-files.ts';

interface WatchedKeyPairOptions {
  readonly files: KeyPairFiles;
  /** Reads the pair and renews it if due. Throws if it is unusable. */
  readonly read: () => KeyPair;
  /** Called with each new pair. If it throws, the previous pair stays in use. */
  readonly changed: (pair: KeyPair) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * A certificate and key in files, reloaded while a program uses them. When the files change they are read again; if the
 * pair does not match or is unusable, the previous one stays in use and the error is logged. The pair is also read
 * periodically, so that it is renewed when due.
 */
export class WatchedKeyPair implements Closable {
  readonly #options: WatchedKeyPairOptions;
  readonly #watched: WatchedFiles;
  #current: Pick<KeyPair, 'certificatePem' | 'keyPem'>;
  #problem = '';
  #timer: Closable;

  /** `current` is the pair that is already in use. */
  constructor(options: WatchedKeyPairOptions, current: Pick<KeyPair, 'certificatePem' | 'keyPem'>) {
    const { files, clock } = options;
    this.#options = options;
    this.#current = current;
    this.#watched = new WatchedFiles(
      {
        paths: [files.certificate, files.key],
        clock,
        // `read` uses the system's files too.
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

  /** Reads both files again: the content that the watcher saw may be outdated by now. */
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
