import type { SecureContext } from 'node:tls';

/** A certificate, as PEM texts, for clients that ask for one of its names (RFC 6066 section 3). */
export interface NamedCertificate {
  readonly cert: string;
  readonly key: string;
  /** In lower case; the first label may be `*`, which stands for one label. */
  readonly names: readonly string[];
  /** The names were given: they count before those that others have from their certificates. */
  readonly given: boolean;
}

/**
 * Which certificate is shown for which name, as published: of two for one name the one that was given it, otherwise the
 * first; an exact name counts before one with `*`.
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

  /** Undefined where none was made for that name. */
  find(serverName: string): SecureContext | undefined {
    if (this.#byName.size === 0) return undefined;
    const name = serverName.toLowerCase().replace(/\.$/, '');
    return this.#byName.get(name) ?? this.#byName.get(`*${name.slice(Math.max(0, name.indexOf('.')))}`);
  }
}
