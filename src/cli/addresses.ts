import { isIP, isIPv6 } from 'node:net';
import {
  hostPattern,
  interfaceAddresses,
  isWildcard,
  listenerHosts,
  localAddress,
} from '../server/wiring/addresses.ts';
import type { ExternalAddress } from '../server/wiring/config.ts';

/** A host name or an IP address, and the port behind it where there is one; undefined where the text is neither. */
export function parseExternalAddress(text: string): ExternalAddress | undefined {
  if (isIPv6(text)) return text.includes('%') ? undefined : { host: text };
  const [, written = '', digits] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const isBracketed = written.startsWith('[');
  const host = isBracketed ? written.slice(1, -1) : written;
  if (!(isBracketed ? isIPv6(host) && !host.includes('%') : isIP(host) === 4 || isHostName(host))) return undefined;
  if (digits === undefined) return { host };
  const port = Number(digits);
  return port > 0 && port <= 65_535 ? { host, port } : undefined;
}

/** RFC 1123 section 2.1; what ends in digits would be a broken address. */
const isHostName = (text: string): boolean =>
  text.length <= 253 && hostPattern.test(text.toLowerCase()) && !/(^|\.)\d+$/.test(text);

/** The flags that say where others reach a server. */
export interface AddressValues {
  readonly 'bind-address': string;
  readonly 'advertise-address': string | undefined;
  readonly 'external-hostname': ExternalAddress | undefined;
}

/** Where others are told that the server is, as published: by its name, by the address that is advertised, by its own. */
export const externalAddress = (values: AddressValues): ExternalAddress =>
  values['external-hostname'] ?? { host: advertisedAddress(values) };

function advertisedAddress({ 'bind-address': bind, 'advertise-address': advertised = bind }: AddressValues): string {
  if (!isWildcard(advertised)) return advertised;
  if (!isWildcard(bind)) return bind;
  const own = interfaceAddresses({ internal: false });
  return own.find((address) => isIPv6(address) === isIPv6(advertised)) ?? own[0] ?? localAddress(advertised);
}

/** The names and addresses that clients may know a server by. */
export function servedHosts(values: AddressValues): readonly string[] {
  const { 'bind-address': bindAddress, 'external-hostname': external } = values;
  const told = [advertisedAddress(values), ...(external ? [external.host] : [])];
  return [...new Set([...listenerHosts(bindAddress), ...told])];
}
