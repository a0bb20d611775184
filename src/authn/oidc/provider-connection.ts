import https from 'node:https';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { certificatesFromPem, certificateToPem } from '../../pki/pem.ts';
import { httpsGet } from './https-get.ts';

/** What is asked of a provider. */
interface Fetch {
  readonly bytesMax: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the request when nobody wants its answer any more. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How one provider is reached: over TLS, trusting the authorities that its configuration names and no others. Proxies of
 * the environment are not used, and connections are not kept. No request outlives `close`.
 */
export class ProviderConnection implements Closable {
  readonly #clock: Clock;
  readonly #authorities: string | undefined;
  readonly #closed = new AbortController();
  #agent: https.Agent | undefined;

  /** Throws where `authorities`, in PEM, holds no certificate or a broken one. Absent or empty: the roots of the system. */
  constructor(clock: Clock, authorities: string | undefined) {
    this.#clock = clock;
    this.#authorities = authorities ? readAuthorities(authorities) : undefined;
  }

  /** Rejects as `httpsGet` does. */
  get(url: URL, { bytesMax, headers = {}, signal }: Fetch): Promise<Buffer> {
    this.#agent ??= new https.Agent({
      keepAlive: false,
      rejectUnauthorized: true,
      // Made once: reading the authorities of a system takes longer than the rest of a fetch.
      secureContext: this.#authorities === undefined ? systemContext() : createSecureContext({ ca: this.#authorities }),
    });
    return httpsGet(url, {
      agent: this.#agent,
      clock: this.#clock,
      timeoutMs: limits.oidcFetchMsMax,
      bytesMax,
      signal: signal ? AbortSignal.any([signal, this.#closed.signal]) : this.#closed.signal,
      headers: { accept: 'application/json', ...headers },
    });
  }

  /** Whether all whom this one trusts are trusted by the other, too. */
  isTrustedBy(other: ProviderConnection): boolean {
    if (this.#authorities === undefined || other.#authorities === undefined) {
      return this.#authorities === other.#authorities;
    }
    const trusted = new Set(certificatesFromPem(other.#authorities).map(({ fingerprint512 }) => fingerprint512));
    return certificatesFromPem(this.#authorities).every(({ fingerprint512 }) => trusted.has(fingerprint512));
  }

  close(): void {
    this.#closed.abort();
    this.#agent?.destroy();
  }
}

function readAuthorities(pem: string): string {
  const certificates = certificatesFromPem(pem);
  if (certificates.length === 0) throw new Error('the certificate authority of the provider has no certificates');
  return certificates.map(certificateToPem).join('');
}

let madeForSystem: SecureContext | undefined;

/** Trusts the authorities of the operating system; where it has none, as in small containers, those of the runtime. */
function systemContext(): SecureContext {
  if (!madeForSystem) {
    const system = getCACertificates('system');
    madeForSystem = createSecureContext({ ca: system.length > 0 ? system : getCACertificates('default') });
  }
  return madeForSystem;
}
