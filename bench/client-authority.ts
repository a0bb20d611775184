import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { forClients, makeCertificate } from '../src/pki/certificate-fixture.ts';
import type { ConnectOptions } from './http2-client.ts';

/** The certificate of a client, and its key. */
export type ClientPair = Pick<ConnectOptions, 'cert' | 'key'>;

/** An authority that the product is told to trust. */
export class ClientAuthority {
  /** Its certificate. */
  readonly file: string;
  readonly #authority: ReturnType<typeof makeCertificate>;

  /** Writes its certificate into the directory, which is made where it is absent. */
  constructor(directory: string, name: string) {
    this.#authority = makeCertificate({ name, authority: true });
    this.file = join(directory, `${name}.crt`);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(this.file, this.#authority.cert);
  }

  issue(name: string, organizations: readonly string[] = []): ClientPair {
    const { cert, key } = makeCertificate({ name, organizations, uses: [forClients], issuer: this.#authority });
    return { cert: Buffer.from(cert), key: Buffer.from(key) };
  }
}
