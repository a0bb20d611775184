import { hostname, networkInterfaces } from 'node:os';
import { isIpv6 } from '../../base/ip-version.ts';

/** RFC 1123 section 2.1, in lower case. */
export const hostPattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;

/** True for addresses that stand for all addresses of the machine. */
export const isWildcard = (address: string): boolean => address === '0.0.0.0' || address === '::';

/** The address at which clients on this machine reach a listener. */
export const localAddress = (bindAddress: string): string =>
  bindAddress === '0.0.0.0' ? '127.0.0.1' : bindAddress === '::' ? '::1' : bindAddress;

/** `https://host:port`, with IPv6 addresses in brackets (RFC 3986 section 3.2.2). */
export const httpsUrl = (address: string, port: number): string =>
  `https://${isIpv6(address) ? `[${address}]` : address}:${port}`;

/** Default names and addresses by which clients may reach a listener. */
export function listenerHosts(bindAddress: string): readonly string[] {
  const own = hostname().toLowerCase();
  return [
    ...['localhost', '127.0.0.1', '::1'],
    ...(hostPattern.test(own) ? [own] : []),
    ...(isWildcard(bindAddress) ? interfaceAddresses({ internal: true }) : [bindAddress]),
  ];
}

/** Addresses of this machine, except link-local ones, which need an interface name. */
export const interfaceAddresses = ({ internal }: { readonly internal: boolean }): readonly string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter((each) => internal || !each.internal)
    .map(({ address }) => address)
    .filter((address) => !address.startsWith('fe80:'));
