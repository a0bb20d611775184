import { type ConnectionOptions, createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { ipVersion } from '../../base/ip-version.ts';
import type { ConnectOptions, OutgoingRequest } from '../network.ts';

/** What a pool of connections trusts and shows. */
export function tlsOptions({ authorities, serverName, insecure, certificate }: ConnectOptions): ConnectionOptions {
  return {
    ...(insecure ? { rejectUnauthorized: false } : trusting(authorities, certificate !== undefined)),
    ...(serverName !== undefined && { servername: serverName }),
    ...(certificate && { cert: certificate.certificate, key: certificate.key }),
  };
}

/** In a URL, IPv6 addresses are in brackets. */
export const hostOf = ({ hostname }: OutgoingRequest['server']): string => hostname.replace(/^\[|\]$/g, '');

/** SNI has names only (RFC 6066 section 3). */
export const nameOf = (host: string): string => (ipVersion(host) === 0 ? host : '');

type Trust = Pick<ConnectionOptions, 'ca' | 'secureContext'>;

/** A context holds the certificate as well, so that clients with one of their own cannot share it. */
function trusting(authorities: string | undefined, hasCertificate: boolean): Trust {
  if (authorities !== undefined) return { ca: authorities };
  return hasCertificate ? { ca: systemAuthorities() } : { secureContext: systemContext() };
}

/** The operating system's CAs; if there are none, as in small containers, the runtime's. */
function systemAuthorities(): string[] {
  const system = getCACertificates('system');
  return system.length > 0 ? system : getCACertificates('default');
}

/** Cached: parsing all these CAs takes longer than the rest of a request. */
let sharedContext: SecureContext | undefined;

function systemContext(): SecureContext {
  sharedContext ??= createSecureContext({ ca: systemAuthorities() });
  return sharedContext;
}
