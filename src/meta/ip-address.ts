import { BlockList } from 'node:net';
import { ipVersion } from '../base/ip-version.ts';

export type IpFamily = 'ipv4' | 'ipv6';

interface IpAddress {
  /** In the form that the platform reads. */
  readonly text: string;
  /** Of the notation. */
  readonly notation: IpFamily;
  /** An IPv4 address in IPv6 notation belongs to IPv4, as in kube-apiserver. */
  readonly family: IpFamily;
}

/** Undefined if the text is no address, or has a zone. Leading zeros in IPv4 are decimal, as in kube-apiserver 1.32. */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (text.length > 64 || text.includes('%')) return undefined;
  if (!text.includes(':')) {
    const plain = text.replace(/(^|\.)0+(?=\d)/g, '$1');
    return ipVersion(plain) === 4 ? { text: plain, notation: 'ipv4', family: 'ipv4' } : undefined;
  }
  if (ipVersion(text) !== 6) return undefined;
  return { text, notation: 'ipv6', family: everyIpv4.check(text, 'ipv6') ? 'ipv4' : 'ipv6' };
}

/** As objects name the families. */
export const familyNames = { ipv4: 'IPv4', ipv6: 'IPv6' } as const;

/** The family of a valid address, as objects name it. An IPv4 address in IPv6 notation is one of IPv4. */
export const familyOf = (address: string): (typeof familyNames)[IpFamily] =>
  familyNames[parseIpAddress(address)?.family ?? 'ipv4'];

const subnets = (...members: readonly (readonly [address: string, length: number, family: IpFamily])[]): BlockList => {
  const list = new BlockList();
  for (const [address, length, family] of members) list.addSubnet(address, length, family);
  return list;
};

const everyIpv4 = subnets(['0.0.0.0', 0, 'ipv4']);

/** Addresses that cannot be those of an endpoint, and why. */
const special: readonly (readonly [addresses: BlockList, problem: (text: string) => string])[] = [
  [subnets(['0.0.0.0', 32, 'ipv4'], ['::', 128, 'ipv6']), (text) => `may not be unspecified (${text})`],
  [
    subnets(['127.0.0.0', 8, 'ipv4'], ['::1', 128, 'ipv6']),
    () => 'may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ],
  [
    subnets(['169.254.0.0', 16, 'ipv4'], ['fe80::', 10, 'ipv6']),
    () => 'may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  ],
  [
    subnets(
      ['224.0.0.0', 24, 'ipv4'],
      ...Array.from({ length: 16 }, (_, flags) => [`ff${flags.toString(16)}2::`, 16, 'ipv6'] as const),
    ),
    () => 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
  ],
];

/** Problems of an address that packets are to be sent to, in the words of kube-apiserver. */
export function specialAddressProblems(text: string): readonly string[] {
  const address = parseIpAddress(text);
  if (!address) return ['must be a valid IP address'];
  return special.flatMap(([addresses, problem]) =>
    addresses.check(address.text, address.notation) ? [problem(text)] : [],
  );
}

/** Whether a valid CIDR value is a strict subset of another one. */
export function isStrictSubset(inner: string, outer: string): boolean {
  const [part, whole] = [parseCidr(inner), parseCidr(outer)];
  if (!part || !whole || part.family !== whole.family || part.length <= whole.length) return false;
  return subnets([whole.text, whole.length, whole.family]).check(part.text, part.family);
}

function parseCidr(
  text: string,
): { readonly text: string; readonly family: IpFamily; readonly length: number } | undefined {
  const slash = text.lastIndexOf('/');
  const address = parseIpAddress(text.slice(0, Math.max(slash, 0)));
  return address && { text: address.text, family: address.notation, length: Number(text.slice(slash + 1)) };
}
