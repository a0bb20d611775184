import { defaultServiceRanges, type ServiceRanges } from '../../kinds/core/service/service-pools.ts';
import { parseIpRange } from '../../meta/ip-range.ts';
import { type Flag, list, optionalText } from './flags.ts';

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
  'service-cluster-ip-range': clusterIpRange,
  'service-node-port-range': nodePortRange,
} as const;

export const readServiceRanges = (values: {
  readonly 'service-cluster-ip-range': readonly string[];
  readonly 'service-node-port-range': ServiceRanges['nodePorts'];
}): ServiceRanges => ({ clusterIps: values['service-cluster-ip-range'], nodePorts: values['service-node-port-range'] });
