import { isIPv6 } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';

const isWildcard = (address: string): boolean => address === '0.0.0.0' || address === '::';

/** An address that clients on this machine reach a listener at. */
export const localAddress = (bindAddress: string): string =>
  bindAddress === '0.0.0.0' ? '127.0.0.1' : bindAddress === '::' ? '::1' : bindAddress;

/** `https://host:port`, with IPv6 addresses in brackets (RFC 3986 section 3.2.2). */
export const httpsUrl = (address: string, port: number): string =>
  `https://${isIPv6(address) ? `[${address}]` : address}:${port}`;

/** The names and addresses that clients may know a server by that listens on `bindAddress`. */
export function servedHosts(bindAddress: string): readonly string[] {
  const hosts = ['localhost', '127.0.0.1', '::1'];
  const own = hostname().toLowerCase();
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/.test(own)) hosts.push(own);
  return [...new Set([...hosts, ...(isWildcard(bindAddress) ? interfaceAddresses() : [bindAddress])])];
}

/** Of this machine, without those that mean something only with the name of an interface. */
const interfaceAddresses = (): readonly string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address)
    .filter((address) => !address.startsWith('fe80:'));
