import type { Duplex } from 'node:stream';
import { ipVersion } from '../../base/ip-version.ts';
import type { Clock } from '../../base/time/clock.ts';
import { untilAborted } from '../../base/time/until-aborted.ts';
import { badRequest } from '../../meta/status-error.ts';
import type { Network, OpenOptions } from '../network.ts';
import { isReachable } from './reachable-address.ts';

interface BackendOptions {
  readonly network: Network;
  readonly clock: Clock;
  /** An IP address without brackets, or a host name. */
  readonly host: string;
  readonly port: number;
  /** Default: plain TCP. */
  readonly tls?: Omit<NonNullable<OpenOptions['tls']>, 'serverName'> | undefined;
  /** What resolving, connecting and the TLS handshake may take together. */
  readonly connectMsMax: number;
  readonly signal: AbortSignal;
}

/**
 * Opens a connection to a server that an object names. The name is resolved once and the connection opened to an address that
 * was checked, so that a second look-up cannot lead elsewhere. Throws BadRequest if any of the addresses is not allowed.
 */
export async function openBackend(options: BackendOptions): Promise<Duplex> {
  const { network, clock, host, port, tls, connectMsMax } = options;
  const limited = new AbortController();
  const abort = (): void => limited.abort(options.signal.reason);
  options.signal.throwIfAborted();
  options.signal.addEventListener('abort', abort, { once: true });
  const timer = clock.after(connectMsMax, () =>
    limited.abort(new Error(`dial tcp ${addressText(host, port)}: i/o timeout`)),
  );
  try {
    const { signal } = limited;
    const addresses = ipVersion(host) === 0 ? await untilAborted(network.resolve(host), signal) : [host];
    if (addresses.length === 0 || !addresses.every(isReachable)) throw badRequest('address not allowed');
    const secured = tls && { tls: { ...tls, serverName: host } };
    return await openFirst(
      network,
      addresses.map((address) => ({ address, port, signal, ...secured })),
    );
  } finally {
    timer.close();
    options.signal.removeEventListener('abort', abort);
  }
}

/** Tries one address after the other; the error of the first is told. */
async function openFirst(network: Network, tries: readonly OpenOptions[]): Promise<Duplex> {
  let failure: { readonly error: unknown } | undefined;
  for (const each of tries) {
    try {
      return await network.open(each);
    } catch (error) {
      failure ??= { error };
      if (each.signal.aborted) break;
    }
  }
  throw failure?.error;
}

/** As in a URL. */
export const addressText = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
