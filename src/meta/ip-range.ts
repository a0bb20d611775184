import { type IpFamily, parseIpAddress } from './ip-address.ts';
import { addressNumber, addressText } from './ip-number.ts';

/** A block of addresses in CIDR notation. */
export interface IpRange {
  readonly family: IpFamily;
  /** The first address, the one of the network. */
  readonly first: bigint;
  readonly length: number;
  /** Number of addresses. */
  readonly size: bigint;
  /** `10.0.0.0/24`, without bits behind the prefix. */
  readonly text: string;
}

/** Undefined if the text is no range. Bits behind the prefix do not count. */
export function parseIpRange(text: string): IpRange | undefined {
  const [, before = '', digits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const address = parseIpAddress(before);
  if (!address) return undefined;
  const bits = address.notation === 'ipv4' ? 32 : 128;
  const length = Number(digits);
  if (length > bits) return undefined;
  const size = 1n << BigInt(bits - length);
  const first = (addressNumber(address.text) / size) * size;
  return { family: address.notation, first, length, size, text: `${addressText(first, address.notation)}/${length}` };
}

/** The number of a valid address in the bits of its family: an IPv4 address in IPv6 notation is one of IPv4. */
export function familyNumber(text: string): { readonly family: IpFamily; readonly number: bigint } | undefined {
  const address = parseIpAddress(text);
  if (!address) return undefined;
  const number = addressNumber(address.text);
  return { family: address.family, number: address.family === address.notation ? number : number & 0xffff_ffffn };
}
