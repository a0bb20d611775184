import type { Files } from '../../base/files.ts';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Authorization, KeyPairPem, StoredCredential } from '../connection-config.ts';
import { fitsHeader } from '../header-encoding.ts';
import { basic, bearer, type Credential, type Credentials, fixedCredentials } from './credentials.ts';
import { findKeyPairProblem, sameKeyPair } from './key-pair.ts';

interface World {
  readonly clock: Clock;
  readonly files: Files;
}

/** A stored credential. If it is in files, they are re-read periodically and on a 401. */
export function storedCredentials(stored: StoredCredential, world: World): Credentials {
  const { certificate, certificateFiles, authorization } = stored;
  if (certificateFiles !== undefined || authorization?.type === 'tokenFile') return new FileCredentials(stored, world);
  return fixedCredentials({
    ...(certificate && { certificate }),
    ...(authorization && { authorization: header(authorization) }),
  });
}

const header = (authorization: Exclude<Authorization, { type: 'tokenFile' }>): string =>
  authorization.type === 'basic' ? basic(authorization) : bearer(authorization.token);

class FileCredentials implements Credentials {
  readonly #stored: StoredCredential;
  readonly #clock: Clock;
  readonly #files: Files;
  #held: Credential | undefined;
  /** When to read the files again, in monotonic milliseconds. */
  #until = Number.NEGATIVE_INFINITY;
  #reading: Promise<Credential> | undefined;

  constructor(stored: StoredCredential, { clock, files }: World) {
    this.#stored = stored;
    this.#clock = clock;
    this.#files = files;
  }

  async current(): Promise<Credential> {
    if (this.#held && this.#clock.monotonic() < this.#until) return this.#held;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async refused(credential: Credential): Promise<Credential | undefined> {
    if (this.#held === credential) this.#until = Number.NEGATIVE_INFINITY;
    const now = await this.current();
    return now === credential ? undefined : now;
  }

  async #read(): Promise<Credential> {
    const [certificate, authorization] = [this.#readCertificate(), this.#readAuthorization()];
    const held = this.#held;
    if (!held || held.authorization !== authorization || !sameKeyPair(held.certificate, certificate)) {
      this.#held = { ...(certificate && { certificate }), ...(authorization !== undefined && { authorization }) };
    }
    this.#until = this.#clock.monotonic() + limits.credentialFileMs;
    return this.#held ?? {};
  }

  /** If the files are being replaced, the last valid pair is used until the next read. */
  #readCertificate(): KeyPairPem | undefined {
    const { certificate: first, certificateFiles: files } = this.#stored;
    const known = this.#held?.certificate ?? first;
    if (!files) return known;
    try {
      const [certificate, key] = [this.#files.read(files.certificate), this.#files.read(files.key)];
      const pair = { certificate: certificate.toString(), key: key.toString() };
      return findKeyPairProblem(pair) === undefined ? pair : known;
    } catch {
      return known;
    }
  }

  #readAuthorization(): string | undefined {
    const { authorization } = this.#stored;
    if (authorization?.type !== 'tokenFile') return authorization && header(authorization);
    try {
      return bearer(readToken(authorization.file, this.#files));
    } catch (error) {
      const known = this.#held?.authorization ?? (authorization.token && bearer(authorization.token));
      if (known === undefined) throw error;
      return known;
    }
  }

  close(): void {}
}

function readToken(file: string, files: Files): string {
  const token = files.read(file).toString().trim();
  if (fitsHeader(token)) return token;
  throw new Error(`${file}: there is no token in it, or one that no header can carry`);
}
