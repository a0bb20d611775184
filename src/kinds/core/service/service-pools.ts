import { limits } from '../../../base/limits.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { familyNames, familyOf, type IpFamily } from '../../../meta/ip-address.ts';
import { addressText } from '../../../meta/ip-number.ts';
import { familyNumber, type IpRange, parseIpRange } from '../../../meta/ip-range.ts';
import type { ResourceName } from '../../../meta/status-error.ts';
import { reservedOf, type ValuePool } from '../../allocation.ts';
import { ipAddresses } from '../../networking/ip-address.ts';
import { addressMetrics, portMetrics } from './service-metrics.ts';

/** What is given to services, as plain data. */
export interface ServiceRanges {
  /** One range, or one of each family, the default first: in CIDR notation. */
  readonly clusterIps: readonly string[];
  /** First and last port. */
  readonly nodePorts: { readonly first: number; readonly last: number };
  /** What ServiceCIDRs say, where they count (KEP-1880). Those of the configuration then say only which families there are. */
  readonly stored?: readonly StoredRange[];
}

/** A range of a ServiceCIDR. */
export interface StoredRange {
  /** In CIDR notation. */
  readonly text: string;
  /** Services are given addresses of it. */
  readonly isOpen: boolean;
}

/** Defaults of kube-apiserver. */
export const defaultServiceRanges: ServiceRanges = { clusterIps: ['10.0.0.0/24'], nodePorts: { first: 30_000, last: 32_767 } };

export const clusterIps = 'clusterips';
export const nodePorts = 'nodeports';

/** The pools of cluster addresses, named by their family, and that of ports of nodes. */
export function servicePools({ clusterIps: ranges, nodePorts: ports, stored }: ServiceRanges, dialect: Dialect): readonly ValuePool[] {
  if (!stored) return [...ranges.flatMap((text) => configuredPool(parseIpRange(text))), portPool(ports)];
  const families = ranges.flatMap((text) => parseIpRange(text)?.family ?? []);
  const shownBy = ipAddresses(dialect);
  return [...families.flatMap((family) => stored.flatMap((each) => storedPool(each, family, shownBy))), portPool(ports)];
}

/** A range of the configuration. Of a large one of IPv6 the first part counts. */
function configuredPool(range: IpRange | undefined): ValuePool[] {
  if (!range) return [];
  const { text, family, size } = range;
  const usable = usableOf(range);
  return [
    {
      ...addressPool(range, family === 'ipv6' && size > limits.ipv6PoolMax ? BigInt(limits.ipv6PoolMax) - 1n : usable),
      outside: (value) => `the provided IP (${value}) is not in the valid range. The range of valid IPs is ${text}`,
      told: { reason: 'ClusterIP', value: (value) => `Cluster IP [${familyOf(value)}]:${value}`, range: `the service CIDR ${text}` },
    },
  ];
}

/** A range of a ServiceCIDR, if it is of the family. Larger ones of IPv6 than kube-apiserver takes give nothing. */
function storedPool({ text, isOpen }: StoredRange, family: IpFamily, shownBy: ResourceName): ValuePool[] {
  const range = parseIpRange(text);
  if (range?.family !== family) return [];
  const isTooLarge = range.size > 1n << BigInt(limits.storedRangeBitsMax);
  return [
    {
      ...addressPool(range, usableOf(range)),
      closed: !isOpen || isTooLarge,
      shownBy,
      outside: () => 'the provided network does not match the current range',
      told: { reason: 'ClusterIP', value: (value) => `Cluster IP [${familyOf(value)}]: ${value}`, range: 'any configured Service CIDR' },
    },
  ];
}

/** All but the address of the network, and that of the broadcast of IPv4. */
const usableOf = ({ family, size }: IpRange): bigint => (family === 'ipv4' ? size - 2n : size - 1n);

/** The first addresses of a range, as many as are usable. Those behind the last that can be chosen can be asked for. */
function addressPool({ family, first, text, size: all }: IpRange, usable: bigint): Omit<ValuePool, 'outside' | 'told'> {
  const size = usable > limits.poolChoiceMax ? limits.poolChoiceMax : Math.max(0, Number(usable));
  return {
    name: familyNames[family],
    folder: clusterIps,
    size,
    reserved: reservedOf(Number(all), { part: 16, max: 256 }),
    valueAt: (index) => addressText(first + 1n + BigInt(index), family),
    canonical(value) {
      const address = familyNumber(value);
      if (address?.family !== family) return undefined;
      const index = address.number - first - 1n;
      return index >= 0n && index < usable ? addressText(address.number, family) : undefined;
    },
    taken: 'provided IP is already allocated',
    metrics: addressMetrics,
    labels: { cidr: text },
  };
}

function portPool({ first, last }: ServiceRanges['nodePorts']): ValuePool {
  const size = last - first + 1;
  return {
    name: nodePorts,
    folder: nodePorts,
    size,
    reserved: reservedOf(size, { part: 32, max: 128 }),
    valueAt: (index) => String(first + index),
    canonical: (value) => (Number(value) >= first && Number(value) <= last ? value : undefined),
    outside: () => `provided port is not in the valid range. The range of valid ports is ${first}-${last}`,
    taken: 'provided port is already allocated',
    metrics: portMetrics,
    labels: {},
    told: { reason: 'Port', value: (value) => `Port ${value}`, range: `the port range ${first}-${last}` },
  };
}
