import { publishedFlagNames as names } from '../../dialect/published-flag-names.ts';
import { defaultServiceRanges, type ServiceRanges } from '../../kinds/core/service/service-pools.ts';
import { parseIpRange } from '../../meta/ip-range.ts';
import type { ServerConfig } from '../../server/wiring/config.ts';
import { type AddressValues, endpointAddress } from '../addresses.ts';
import { UsageError } from '../usage-error.ts';
import { choice, type Flag, type FlagValues, integer, list, optionalText } from './flags.ts';

/** Flags about the addresses and ports that services are given. */

/** Bits of an address that services may differ in: published. */
const rangeBitsMax = 20;
const portMax = 65_535;

const { clusterIps, nodePorts } = defaultServiceRanges;

const clusterIpRange: Flag<readonly string[]> = {
  ...list({
    placeholder: 'CIDR[,CIDR]',
    default: clusterIps,
    help: 'the addresses that services are given: one range, or one of each family, the default one first',
  }),
  parse(text) {
    if (text === '') return clusterIps;
    const ranges = text.split(',').map((each) => each.trim());
    if (ranges.length > 2) throw new Error('must not contain more than two entries');
    const families = ranges.map((each, index) => checkRange(each, index === 0 ? '' : `[${index}]`));
    if (families.length > 1 && families[0] === families[1])
      throw new Error('the two ranges must be of different families');
    return ranges;
  },
};

function checkRange(text: string, at: string): string {
  const range = parseIpRange(text);
  if (!range) throw new Error(`${JSON.stringify(text)}${at} is no range of addresses such as 10.0.0.0/24`);
  const { family, length } = range;
  const bits = family === 'ipv4' ? 32 : 128;
  if (bits - length > rangeBitsMax)
    throw new Error(`${text} is too large; for ${bits}-bit addresses, the mask must be >= ${bits - rangeBitsMax}`);
  if (bits - length < 3) throw new Error(`${text} is too small: it must contain at least 8 addresses`);
  return family;
}

/** `FROM-TO`, `FROM+MORE`, or one port. */
function parsePortRange(text: string): ServiceRanges['nodePorts'] {
  const [, from = '', sign = '', to = ''] = /^(\d{1,5})(?:([-+])(\d{1,5}))?$/.exec(text) ?? [];
  const first = Number(from);
  const last = sign === '-' ? Number(to) : first + Number(to);
  if (from === '' || first < 1 || last < first || last > portMax)
    throw new Error(`${JSON.stringify(text)} is no range of ports such as ${nodePorts.first}-${nodePorts.last}`);
  return { first, last };
}

const nodePortRange: Flag<ServiceRanges['nodePorts']> = {
  ...optionalText({
    placeholder: 'FROM-TO',
    defaultText: `${nodePorts.first}-${nodePorts.last}`,
    help: 'the ports of nodes that services are given',
  }),
  default: nodePorts,
  parse: (text) => (text === '' ? nodePorts : parsePortRange(text)),
};

export const serviceFlags = {
  'endpoint-reconciler-type': choice({
    of: ['lease', 'master-count', 'none'],
    default: 'lease',
    help: 'whether the service of the API has endpoints: none has not; the others are the same here',
  }),
  [names.serviceNodePort]: integer({
    min: 0,
    max: portMax,
    default: 0,
    help: 'a port of every node that leads to the service of the API; 0: none',
  }),
  'service-cluster-ip-range': clusterIpRange,
  'service-node-port-range': nodePortRange,
} as const;

type ServiceFlagValues = FlagValues<typeof serviceFlags>;

export function readServiceRanges(values: ServiceFlagValues): ServiceRanges {
  const { 'service-node-port-range': ports, [names.serviceNodePort]: port } = values;
  if (port !== 0 && (port < ports.first || port > ports.last)) {
    throw new UsageError(
      `--${names.serviceNodePort}: ${port} is not in --service-node-port-range ${ports.first}-${ports.last}`,
    );
  }
  return { clusterIps: values['service-cluster-ip-range'], nodePorts: ports };
}

export function readApiService(values: ServiceFlagValues & AddressValues): NonNullable<ServerConfig['apiService']> {
  const hasEndpoints = values['endpoint-reconciler-type'] !== 'none';
  return { address: hasEndpoints ? endpointAddress(values) : undefined, nodePort: values[names.serviceNodePort] };
}
