import { ipVersion, isIpv6 } from '../base/ip-version.ts';
import {
  hostPattern,
  interfaceAddresses,
  isWildcard,
  listenerHosts,
  localAddress,
} from '../server/wiring/addresses.ts';
import type { ExternalAddress } from '../server/wiring/config.ts';

/** Parses a host name or IP address with an optional port; undefined if invalid. */
export function parseExternalAddress(text: string): ExternalAddress | undefined {
  if (isIpv6(text)) return text.includes('%') ? undefined : { host: text };
  const [, written = '', digits] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const isBracketed = written.startsWith('[');
  const host = isBracketed ? written.slice(1, -1) : written;
  if (!(isBracketed ? isIpv6(host) && !host.includes('%') : ipVersion(host) === 4 || isHostName(host)))
    return undefined;
  if (digits === undefined) return { host };
  const port = Number(digits);
  return port > 0 && port <= 65_535 ? { host, port } : undefined;
}

/** RFC 1123 section 2.1; a name that ends in digits would be a malformed address. */
const isHostName = (text: string): boolean =>
  text.length <= 253 && hostPattern.test(text.toLowerCase()) && !/(^|\.)\d+$/.test(text);

/** The flags that determine a server's addresses. */
export interface AddressValues {
  readonly 'bind-address': string;
  readonly 'advertise-address': string | undefined;
  readonly 'external-hostname': ExternalAddress | undefined;
}

/**
 * The address published to clients, in the order of kube-apiserver: external host name, advertised address, bind
 * address.
 */
export const externalAddress = (values: AddressValues): ExternalAddress =>
  values['external-hostname'] ?? { host: advertisedAddress(values) };

function advertisedAddress({ 'bind-address': bind, 'advertise-address': advertised = bind }: AddressValues): string {
  if (!isWildcard(advertised)) return advertised;
  if (!isWildcard(bind)) return bind;
  const own = interfaceAddresses({ internal: false });
  return own.find((address) => isIpv6(address) === isIpv6(advertised)) ?? own[0] ?? localAddress(advertised);
}

/**
 * The address for the endpoints of the service of the API. As in kube-apiserver an address that is not given, because the server
 * listens on all or on a loopback one, is the first of this machine. Undefined if it has none but loopback ones.
 */
export function endpointAddress({
  'bind-address': bind,
  'advertise-address': advertised,
}: AddressValues): string | undefined {
  const given = advertised ?? bind;
  const isLoopback = given === '::1' || given.startsWith('127.');
  if (!isWildcard(given) && !(advertised === undefined && isLoopback)) return given;
  return interfaceAddresses({ internal: false }).find((address) => isIpv6(address) === isIpv6(given));
}

/** Names and addresses by which clients may reach a server. */
export function servedHosts(values: AddressValues): readonly string[] {
  const { 'bind-address': bindAddress, 'external-hostname': external } = values;
  const published = [advertisedAddress(values), ...(external ? [external.host] : [])];
  return [...new Set([...listenerHosts(bindAddress), ...published])];
}
