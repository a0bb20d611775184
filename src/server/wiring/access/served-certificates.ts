import { type Closable, ClosableStack } from '../../../base/disposable.ts';
import type { Listener, TlsMaterial } from '../../../http/listener.ts';
import type { KeyPairPem, NamedPairPem, ServerConfig } from '../config.ts';

/** The listener's current certificates and authorities; certificates may be replaced at run time. */
export class ServedCertificates {
  readonly #config: Pick<ServerConfig, 'tls' | 'followServing'>;
  /** PEM of the client certificate authorities; empty if no certificates are requested. */
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

  /**
   * Installs replacement certificates in the listener from now on. A certificate that the listener refuses changes
   * nothing.
   */
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
