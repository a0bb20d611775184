import { isIPv4 } from 'node:net';
import { ipVersion, isIpv6 } from '../base/ip-version.ts';
import * as der from './der.ts';

/** A subject alternative name of a certificate (RFC 5280 section 4.2.1.6). */
export interface AlternativeName {
  readonly type: keyof typeof tags;
  readonly value: string;
}

/** Tags of GeneralName. */
const tags = { email: 1, dns: 2, uri: 6, ip: 7 } as const;

/** The alternative name of a host: a DNS name or an IP address. */
export const nameOfHost = (host: string): AlternativeName => ({
  type: ipVersion(host) === 0 ? 'dns' : 'ip',
  value: host,
});

/** The GeneralName in DER. Throws a RangeError for text that is not ASCII and for an address that is none. */
export function encodeAlternativeName({ type, value }: AlternativeName): Buffer {
  if (type === 'ip') return der.implicit(tags.ip, addressBytes(value));
  const bytes = Buffer.from(value, 'utf8');
  if (bytes.some((byte) => byte > 0x7f)) throw new RangeError(`${JSON.stringify(value)} is not ASCII`);
  return der.implicit(tags[type], bytes);
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  // A zone means something to one machine only.
  if (!isIpv6(address) || address.includes('%'))
    throw new RangeError(`${JSON.stringify(address)} is not an IP address`);
  const [head = '', tail] = address.replace(dottedEnd, hexadecimalEnd).split('::');
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return Buffer.from([...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff]));
}

/** The IPv4 address at the end of an IPv6 address, as in `::ffff:10.0.0.1`. */
const dottedEnd = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;
const hexadecimalEnd = (_: string, ...bytes: readonly string[]): string => {
  const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number);
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
};
