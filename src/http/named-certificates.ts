import type { SecureContext } from 'node:tls';

/** A certificate, as PEM texts, for SNI clients that request one of its names (RFC 6066 section 3). */
export interface NamedCertificate {
  readonly cert: string;
  readonly key: string;
  /** In lower case; the first label may be `*`, which stands for one label. */
  readonly names: readonly string[];
  /** The names were configured explicitly: they take precedence over names read from certificates. */
  readonly given: boolean;
}

/**
 * Selects the certificate for a server name, as kube-apiserver does: among certificates for the same name, one with
 * explicitly configured names wins, otherwise the first; an exact name wins over one with `*`.
 */
export class NamedCertificates {
  readonly #byName = new Map<string, SecureContext>();

  constructor(certificates: readonly NamedCertificate[], contextOf: (certificate: NamedCertificate) => SecureContext) {
    const inOrder = [...certificates.filter(({ given }) => given), ...certificates.filter(({ given }) => !given)];
    for (const certificate of inOrder) {
      const context = contextOf(certificate);
      for (const name of certificate.names) if (!this.#byName.has(name)) this.#byName.set(name, context);
    }
  }

  /** Undefined if there is no certificate for the name. */
  find(serverName: string): SecureContext | undefined {
    if (this.#byName.size === 0) return undefined;
    const name = serverName.toLowerCase().replace(/\.$/, '');
    return this.#byName.get(name) ?? this.#byName.get(`*${name.slice(Math.max(0, name.indexOf('.')))}`);
  }
}
