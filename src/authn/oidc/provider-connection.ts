import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { HttpsConnections, Network } from '../../outbound/network.ts';
import { certificatesFromPem, certificateToPem } from '../../pki/pem.ts';
import { httpsGet } from './https-get.ts';

/** Options of one request. */
interface Fetch {
  readonly bytesMax: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * HTTPS connection to one provider, trusting only the authorities in its configuration. Ignores proxy environment
 * variables and does not keep connections alive. `close` aborts all requests.
 */
export class ProviderConnection implements Closable {
  readonly #clock: Clock;
  readonly #authorities: string | undefined;
  readonly #closed = new AbortController();
  readonly #connections: HttpsConnections;

  /**
   * Throws if `authorities` (PEM) contains no certificate or an invalid one. Absent or empty: the system's trust roots.
   */
  constructor(
    { clock, network }: { readonly clock: Clock; readonly network: Network },
    authorities: string | undefined,
  ) {
    this.#clock = clock;
    this.#authorities = authorities ? readAuthorities(authorities) : undefined;
    this.#connections = network.connect({
      keepAlive: false,
      ...(this.#authorities !== undefined && { authorities: this.#authorities }),
    });
  }

  /** Rejects as `httpsGet` does. */
  get(url: URL, { bytesMax, headers = {}, signal }: Fetch): Promise<Buffer> {
    return httpsGet(url, {
      connections: this.#connections,
      clock: this.#clock,
      timeoutMs: limits.oidcFetchMsMax,
      bytesMax,
      signal: signal ? AbortSignal.any([signal, this.#closed.signal]) : this.#closed.signal,
      headers: { accept: 'application/json', ...headers },
    });
  }

  /** Whether `other` trusts every authority that this connection trusts. */
  isTrustedBy(other: ProviderConnection): boolean {
    if (this.#authorities === undefined || other.#authorities === undefined) {
      return this.#authorities === other.#authorities;
    }
    const trusted = new Set(certificatesFromPem(other.#authorities).map(({ fingerprint512 }) => fingerprint512));
    return certificatesFromPem(this.#authorities).every(({ fingerprint512 }) => trusted.has(fingerprint512));
  }

  close(): void {
    this.#closed.abort();
    this.#connections.close();
  }
}

function readAuthorities(pem: string): string {
  const certificates = certificatesFromPem(pem);
  if (certificates.length === 0) throw new Error('the certificate authority of the provider has no certificates');
  return certificates.map(certificateToPem).join('');
}
