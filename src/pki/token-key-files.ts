import { type Closable, ClosableStack } from '../base/disposable.ts';
import type { Files } from '../base/files.ts';
import type { Logger } from '../base/logger.ts';
import type { Clock } from '../base/time/clock.ts';
import { type FileContent, WatchedFile } from '../base/watched-file.ts';
import { distinctKeys, readSigningKey, readTokenKeys, type SigningKey, type TokenKey } from './token-keys.ts';

interface TokenKeyFilesOptions {
  /** From `--service-account-key-file`. */
  readonly keyFiles: readonly FileContent[];
  /** From `--service-account-signing-key-file`. */
  readonly signingKeyFile?: FileContent;
  readonly clock: Clock;
  readonly files: Files;
  readonly logger: Logger;
}

/** Immutable snapshot of the keys. A change of any key creates a new object. */
export interface TokenKeySet {
  /** Without duplicates, in the order of the files. */
  readonly all: readonly TokenKey[];
  readonly byId: ReadonlyMap<string, TokenKey>;
  readonly signingKey: SigningKey | undefined;
}

/**
 * Keys of service account tokens, reloaded from files while the server runs, so that keys are rotated without a
 * restart. The public key of the signing key is always among the verification keys, so that the server accepts its own
 * tokens. If a file becomes unreadable or invalid, the previous keys stay in use and the error is logged.
 */
export class TokenKeyFiles implements Closable {
  readonly #byFile: (readonly TokenKey[])[];
  readonly #watched = new ClosableStack();
  readonly #files: WatchedFile[] = [];
  #signingKey: SigningKey | undefined;
  #current: TokenKeySet;

  /** Throws a PkiFileError if a file contains no usable keys. */
  constructor({ keyFiles, signingKeyFile, clock, files, logger }: TokenKeyFilesOptions) {
    this.#byFile = keyFiles.map(({ content, path }) => readTokenKeys(content, path));
    this.#signingKey = signingKeyFile && readSigningKey(signingKeyFile.content, signingKeyFile.path);
    this.#current = this.#collect();
    const watch = ({ path, content }: FileContent, take: (content: Buffer) => void): void => {
      const apply = (changed: Buffer): void => {
        take(changed);
        this.#current = this.#collect();
        logger.info('keys of tokens changed', { file: path, keys: this.#current.all.map(({ id }) => id) });
      };
      const failed = (error: unknown): void => logger.error('keys of tokens stay as they are', { file: path, error });
      this.#files.push(this.#watched.add(new WatchedFile({ path, clock, files, apply, failed }, content)));
    };
    keyFiles.forEach((file, at) => {
      watch(file, (content) => {
        this.#byFile[at] = readTokenKeys(content, file.path);
      });
    });
    if (signingKeyFile) {
      watch(signingKeyFile, (content) => {
        this.#signingKey = readSigningKey(content, signingKeyFile.path);
      });
    }
  }

  current(): TokenKeySet {
    return this.#current;
  }

  /** Checks the files for changes now. */
  check(): void {
    for (const file of this.#files) file.check();
  }

  close(): void {
    this.#watched.close();
  }

  #collect(): TokenKeySet {
    const all = distinctKeys([...this.#byFile.flat(), ...(this.#signingKey ? [publicHalf(this.#signingKey)] : [])]);
    return { all, byId: new Map(all.map((key) => [key.id, key])), signingKey: this.#signingKey };
  }
}

/** Drops the private key, so that code that lists keys cannot expose it. */
const publicHalf = ({ id, algorithm, publicKey, jwk }: SigningKey): TokenKey => ({ id, algorithm, publicKey, jwk });
