import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { strictAddress, strictPrefix } from '../../../meta/strict-ip.ts';
import { topologyHints, topologyMode } from './service-errors.ts';
import { isNone, specOf } from './service-spec.ts';

/** Warnings about a service, in the words of kube-apiserver. */
export function serviceWarnings(object: ApiObject, dialect: Dialect): string[] {
  const { type, clusterIP = '', clusterIPs = [], externalIPs = [], loadBalancerIP = '', loadBalancerSourceRanges = [], externalName = '' } = specOf(object);
  const hasAddress = clusterIP !== '' && !isNone(clusterIP);
  const isExternalName = type === 'ExternalName';
  return [
    ...(object.metadata.annotations?.[topologyHints(dialect)] === undefined ? [] : [`annotation ${topologyHints(dialect)} is deprecated, please use ${topologyMode(dialect)} instead`]),
    ...(hasAddress ? clusterIPs.flatMap((address, index) => addressWarnings(address, `spec.clusterIPs[${index}]`, dialect)) : []),
    ...externalIPs.flatMap((address, index) => addressWarnings(address, `spec.externalIPs[${index}]`, dialect)),
    ...(loadBalancerIP === '' ? [] : addressWarnings(loadBalancerIP, 'spec.loadBalancerIP', dialect)),
    ...loadBalancerSourceRanges.flatMap((range, index) => rangeWarnings(range, `spec.loadBalancerSourceRanges[${index}]`, dialect)),
    ...(isExternalName && externalIPs.length > 0 ? ['spec.externalIPs is ignored when spec.type is "ExternalName"'] : []),
    ...(!isExternalName && externalName !== '' ? ['spec.externalName is ignored when spec.type is not "ExternalName"'] : []),
  ];
}

/** `what` is accepted now. */
const future = (what: string, problem: string, { title }: Dialect): string => `${what} was accepted, but will be invalid in a future ${title} release: ${problem}`;

const loops = 'which may cause controller apply-loops';

function addressWarnings(address: string, path: string, dialect: Dialect): string[] {
  const parsed = strictAddress(address);
  if ('problem' in parsed) return [`${path}: ${future('IP address', parsed.problem, dialect)}`];
  if (parsed.notation === 'ipv4' || parsed.canonical === address) return [];
  return [`${path}: IPv6 address ${JSON.stringify(address)} is not in RFC 5952 canonical format (${JSON.stringify(parsed.canonical)}), ${loops}`];
}

function rangeWarnings(range: string, path: string, dialect: Dialect): string[] {
  const parsed = strictPrefix(range);
  if ('problem' in parsed) return [`${path}: ${future('IP prefix', parsed.problem, dialect)}`];
  if (parsed.notation === 'ipv4' || parsed.canonical === range) return [];
  return [`${path}: IPv6 prefix ${JSON.stringify(range)} is not in RFC 5952 canonical format (${JSON.stringify(parsed.canonical)}), ${loops}`];
}
