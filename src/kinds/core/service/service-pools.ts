import { limits } from '../../../base/limits.ts';
import { addressText } from '../../../meta/ip-number.ts';
import { familyNumber, type IpRange, parseIpRange } from '../../../meta/ip-range.ts';
import { reservedOf, type ValuePool } from '../../allocation.ts';
import { addressMetrics, portMetrics } from './service-metrics.ts';

/** What is given to services, as plain data. */
export interface ServiceRanges {
  /** One range, or one of each family, the default first: in CIDR notation. */
  readonly clusterIps: readonly string[];
  /** First and last port. */
  readonly nodePorts: { readonly first: number; readonly last: number };
}

/** Defaults of kube-apiserver. */
export const defaultServiceRanges: ServiceRanges = { clusterIps: ['10.0.0.0/24'], nodePorts: { first: 30_000, last: 32_767 } };

export const clusterIps = 'clusterips';
export const nodePorts = 'nodeports';

/** The pools of cluster addresses, named by their family, and that of ports of nodes. */
export const servicePools = ({ clusterIps: ranges, nodePorts: ports }: ServiceRanges): readonly ValuePool[] => [...ranges.flatMap((text) => addressPool(parseIpRange(text))), portPool(ports)];

/** Without the address of the network, and that of the broadcast of IPv4. Of a large range of IPv6 the first part counts. */
function addressPool(range: IpRange | undefined): ValuePool[] {
  if (!range) return [];
  const { family, first, text } = range;
  const usable = family === 'ipv4' ? range.size - 2n : range.size > limits.ipv6PoolMax ? BigInt(limits.ipv6PoolMax) - 1n : range.size - 1n;
  const size = Math.max(0, Number(usable));
  return [
    {
      name: family === 'ipv4' ? 'IPv4' : 'IPv6',
      folder: clusterIps,
      size,
      reserved: reservedOf(Number(range.size), { part: 16, max: 256 }),
      valueAt: (index) => addressText(first + 1n + BigInt(index), family),
      canonical(value) {
        const address = familyNumber(value);
        if (address?.family !== family) return undefined;
        const index = address.number - first - 1n;
        return index >= 0n && index < BigInt(size) ? addressText(address.number, family) : undefined;
      },
      outside: (value) => `the provided IP (${value}) is not in the valid range. The range of valid IPs is ${text}`,
      taken: 'provided IP is already allocated',
      metrics: addressMetrics,
      labels: { cidr: text },
      told: { reason: 'ClusterIP', value: (value) => `Cluster IP [${familyNumber(value)?.family === 'ipv6' ? 'IPv6' : 'IPv4'}]:${value}`, range: `the service CIDR ${text}` },
    },
  ];
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
