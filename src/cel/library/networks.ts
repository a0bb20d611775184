import { isIPv4 } from 'node:net';
import { isIpv6 } from '../../base/ip-version.ts';
import { CelFault } from '../fault.ts';
import { costPerCharacter } from '../meter.ts';
import { define, defineMethod } from '../overload.ts';
import { boolType, intType, opaqueType, stringType } from '../type.ts';
import { CelOpaque } from '../value.ts';

/** These types have names in expressions: `type(x) == net.IP`. */
export const ipTypeName = 'net.IP';
export const cidrTypeName = 'net.CIDR';

/** An IPv4 or IPv6 address. */
class Ip extends CelOpaque {
  readonly typeName = ipTypeName;
  readonly family: 4 | 6;
  readonly bits: bigint;

  constructor(family: 4 | 6, bits: bigint) {
    super();
    this.family = family;
    this.bits = bits;
  }

  get width(): number {
    return this.family === 4 ? 32 : 128;
  }

  get text(): string {
    return this.family === 4 ? ipv4Text(this.bits) : ipv6Text(this.bits);
  }
}

/** A range of addresses with a common prefix. */
class Cidr extends CelOpaque {
  readonly typeName = cidrTypeName;
  readonly address: Ip;
  readonly prefixLength: number;

  constructor(address: Ip, prefixLength: number) {
    super();
    this.address = address;
    this.prefixLength = prefixLength;
  }

  get text(): string {
    return `${this.address.text}/${this.prefixLength}`;
  }

  contains(other: Ip, prefixLength: number = other.width): boolean {
    if (other.family !== this.address.family || prefixLength < this.prefixLength) return false;
    const hostBits = BigInt(other.width - this.prefixLength);
    return other.bits >> hostBits === this.address.bits >> hostBits;
  }

  masked(): Cidr {
    const hostBits = BigInt(this.address.width - this.prefixLength);
    return new Cidr(new Ip(this.address.family, (this.address.bits >> hostBits) << hostBits), this.prefixLength);
  }
}

const ipv4Text = (bits: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 255n).join('.');

/** RFC 5952: the longest run of at least two zero groups is compressed. */
function ipv6Text(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => ((bits >> BigInt(112 - 16 * index)) & 0xffffn).toString(16));
  let [start, length] = [0, 1];
  for (let from = 0; from < 8; from++) {
    let to = from;
    while (groups[to] === '0') to++;
    if (to - from > length) [start, length] = [from, to - from];
  }
  if (length < 2) return groups.join(':');
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`;
}

/** Of the text of an address. */
const lengthMax = 64;

/** Undefined if the text is not an address, has a zone, or is an IPv4-mapped IPv6 address. */
function parseIp(text: string): Ip | undefined {
  if (text.length > lengthMax) return undefined;
  if (isIPv4(text))
    return new Ip(
      4,
      text.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n),
    );
  if (!isIpv6(text) || text.includes('%')) return undefined;
  const bits = ipv6Bits(text);
  return bits >> 32n === 0xffffn ? undefined : new Ip(6, bits);
}

function ipv6Bits(text: string): bigint {
  const [head = '', tail] = text.split('::');
  const [front, back] = [groupsOf(head), groupsOf(tail ?? '')];
  const zeros = Array.from({ length: tail === undefined ? 0 : 8 - front.length - back.length }, () => 0n);
  return [...front, ...zeros, ...back].reduce((bits, group) => (bits << 16n) | group, 0n);
}

/** Groups of 16 bits; a trailing IPv4 address is two of them. */
function groupsOf(text: string): bigint[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [BigInt(`0x${group}`)];
    const bits = group.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
    return [bits >> 16n, bits & 0xffffn];
  });
}

function parseCidr(text: string): Cidr | undefined {
  if (text.length > lengthMax) return undefined;
  const [address = '', length = '', more] = text.split('/');
  const ip = parseIp(address);
  if (ip === undefined || more !== undefined || !/^(?:0|[1-9][0-9]{0,2})$/.test(length)) return undefined;
  return Number(length) <= ip.width ? new Cidr(ip, Number(length)) : undefined;
}

const orFault =
  <T>(parse: (text: string) => T | undefined, what: string) =>
  (text: string): T => {
    const parsed = parse(text);
    if (parsed === undefined) throw new CelFault(`${what} parse error`);
    return parsed;
  };

const [toIp, toCidr] = [orFault(parseIp, 'IP address'), orFault(parseCidr, 'network address')];

/** Whether the address is in one of the networks. */
const within = (...networks: readonly string[]) => {
  const parsed = networks.map(toCidr);
  return (ip: Ip): boolean => parsed.some((network) => network.contains(ip));
};

const isLoopback = within('127.0.0.0/8', '::1/128');
const isUnspecified = within('0.0.0.0/32', '::/128');
const isLinkLocalUnicast = within('169.254.0.0/16', 'fe80::/10');
const isLinkLocalMulticast = within('224.0.0.0/24', 'ff02::/16');
const isMulticast = within('224.0.0.0/4', 'ff00::/8');
const isBroadcast = within('255.255.255.255/32');
const isGlobalUnicast = (ip: Ip): boolean =>
  ![isLoopback, isUnspecified, isLinkLocalUnicast, isMulticast, isBroadcast].some((test) => test(ip));

const [ipType, cidrType] = [opaqueType(ipTypeName), opaqueType(cidrTypeName)];
const parseCost = (text: string): number => traversal(text.length);
const traversal = (length: number): number => Math.ceil(length * costPerCharacter);
/** Of the bytes of a prefix. */
const prefixCost = ({ prefixLength }: Cidr, times: number): number => traversal(times * Math.ceil(prefixLength / 8));
const containsCidrCost = (cidr: Cidr): number => prefixCost(cidr, 2) + prefixCost(cidr, 1) + 1;
const ipTests = { isLoopback, isUnspecified, isLinkLocalUnicast, isLinkLocalMulticast, isGlobalUnicast };

/** The IP address and CIDR extensions of kube-apiserver. */
export const networks = [
  define('ip', [stringType], ipType, toIp, parseCost),
  define('isIP', [stringType], boolType, (text: string) => parseIp(text) !== undefined, parseCost),
  define(
    'ip.isCanonical',
    [stringType],
    boolType,
    (text: string) => toIp(text).text === text,
    (text: string) => traversal(2 * text.length),
  ),
  define('string', [ipType], stringType, (ip: Ip) => ip.text),
  defineMethod('family', [ipType], intType, (ip: Ip) => BigInt(ip.family)),
  ...Object.entries(ipTests).map(([name, test]) => defineMethod(name, [ipType], boolType, test)),
  define('cidr', [stringType], cidrType, toCidr, parseCost),
  define('isCIDR', [stringType], boolType, (text: string) => parseCidr(text) !== undefined, parseCost),
  define('string', [cidrType], stringType, (cidr: Cidr) => cidr.text),
  defineMethod('ip', [cidrType], ipType, (cidr: Cidr) => cidr.address),
  defineMethod('prefixLength', [cidrType], intType, (cidr: Cidr) => BigInt(cidr.prefixLength)),
  defineMethod('masked', [cidrType], cidrType, (cidr: Cidr) => cidr.masked()),
  defineMethod(
    'containsIP',
    [cidrType, ipType],
    boolType,
    (cidr: Cidr, ip: Ip) => cidr.contains(ip),
    (cidr: Cidr) => prefixCost(cidr, 2),
  ),
  defineMethod(
    'containsIP',
    [cidrType, stringType],
    boolType,
    (cidr: Cidr, ip: string) => cidr.contains(toIp(ip)),
    (cidr: Cidr, ip: string) => prefixCost(cidr, 2) + parseCost(ip),
  ),
  defineMethod(
    'containsCIDR',
    [cidrType, cidrType],
    boolType,
    (cidr: Cidr, other: Cidr) => cidr.contains(other.address, other.prefixLength),
    containsCidrCost,
  ),
  defineMethod(
    'containsCIDR',
    [cidrType, stringType],
    boolType,
    (cidr: Cidr, text: string) => {
      const other = toCidr(text);
      return cidr.contains(other.address, other.prefixLength);
    },
    (cidr: Cidr, text: string) => containsCidrCost(cidr) + parseCost(text),
  ),
];
