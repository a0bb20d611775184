import { type Closable, ClosableStack } from '../../base/disposable.ts';
import type { Listener, TlsMaterial } from '../../http/listener.ts';
import type { KeyPairPem, NamedPairPem, ServerConfig } from './config.ts';

/** What the listener shows and trusts now; certificates take each other's place while the server runs. */
export class ServedCertificates {
  readonly #config: Pick<ServerConfig, 'tls' | 'followServing'>;
  /** PEM of the authorities of clients; empty where none is asked for. */
  readonly #authorities: () => readonly string[];
  #serving: KeyPairPem;
  #named: readonly NamedPairPem[];

  constructor(config: Pick<ServerConfig, 'tls' | 'serving' | 'followServing'>, authorities: () => readonly string[]) {
    this.#config = config;
    this.#authorities = authorities;
    this.#serving = config.serving;
    this.#named = config.tls.named.map(({ current }) => current);
  }

  get material(): TlsMaterial {
    return this.#material(this.#serving, this.#named);
  }

  #material(serving: KeyPairPem, named: readonly NamedPairPem[]): TlsMaterial {
    const { minVersion, ciphers } = this.#config.tls;
    const ca = this.#authorities();
    return {
      cert: serving.certificate,
      key: serving.key,
      minVersion,
      ...(ciphers !== undefined && { ciphers }),
      ...(ca.length > 0 && { ca }),
      named: named.map(({ certificate, key, names, given }) => ({ cert: certificate, key, names, given })),
    };
  }

  /** From now on the listener shows each certificate that takes another's place. One that it does not take changes nothing. */
  follow(listener: Listener): Closable {
    const { tls, followServing } = this.#config;
    const followed = new ClosableStack();
    const serving = followServing?.((pair) => {
      listener.setTls(this.#material(pair, this.#named));
      this.#serving = pair;
    });
    if (serving) followed.add(serving);
    for (const [at, { follow }] of tls.named.entries()) {
      followed.add(
        follow((pair) => {
          const named = this.#named.with(at, pair);
          listener.setTls(this.#material(this.#serving, named));
          this.#named = named;
        }),
      );
    }
    return followed;
  }
}
