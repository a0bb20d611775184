import { BlockList } from 'node:net';
import { ipVersion } from '../../base/ip-version.ts';

/**
 * Addresses that lead to this machine, to its link, to many, or nowhere: nobody may use the server to reach its own ports or the metadata
 * service of its cloud. IPv4 addresses in IPv6 count as what they hold.
 */
const excluded = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  // For documentation (RFC 5737): nobody is there. Simulated nodes have addresses of it.
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['255.255.255.255', 32],
] as const) {
  excluded.addSubnet(network, prefix, 'ipv4');
  // By translation (RFC 6052), and by the mapping of RFC 4291 section 2.5.5.
  excluded.addSubnet(`64:ff9b::${network}`, 96 + prefix, 'ipv6');
  excluded.addSubnet(`::ffff:${network}`, 96 + prefix, 'ipv6');
}
for (const [network, prefix] of [
  // The unspecified and the loopback address, and IPv4-compatible ones.
  ['::', 96],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  excluded.addSubnet(network, prefix, 'ipv6');
}

/** Whether a server at this address may be connected to because an object names it. False for what is no IP address. */
export function isReachable(address: string): boolean {
  const family = ipVersion(address);
  // A zone names an interface of this machine.
  if (family === 0 || address.includes('%')) return false;
  return !excluded.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
