import { ipVersion } from '../base/ip-version.ts';
import { limits } from '../base/limits.ts';

interface Sender {
  readonly peer: { readonly address: string };
  /** A header by its lower-case name; multiple lines are joined with ', '. */
  header(name: string): string | undefined;
}

/** What in-process clients have instead of an address. */
const loopback = '::1';

const direct = new WeakMap<object, readonly string[]>();

/** The last one of them: requests of a connection come in bursts. */
let latest: { readonly peer: object; readonly list: readonly string[] } | undefined;

/**
 * Addresses that a request came through, as kube-apiserver lists them: `X-Forwarded-For`, `X-Real-Ip` if that has it
 * not, and the address of the connection if it is not the last. All but the last can be made up by the client, so that
 * of many only those next to the server are read. Requests of one connection share a list.
 */
export function sourceAddresses(sender: Sender): readonly string[] {
  const { peer } = sender;
  const [forwarded, real] = [sender.header('x-forwarded-for'), sender.header('x-real-ip')];
  if (forwarded !== undefined || real !== undefined) return through(forwarded ?? '', real ?? '', peer.address);
  if (latest?.peer === peer) return latest.list;
  let list = direct.get(peer);
  if (!list) {
    list = through('', '', peer.address);
    direct.set(peer, list);
  }
  latest = { peer, list };
  return list;
}

function through(forwarded: string, real: string, remote: string): readonly string[] {
  const listed = forwarded.split(',').slice(-limits.auditForwardedMax);
  const addresses = listed.flatMap((part) => parse(part.trim()));
  for (const address of parse(real)) if (!addresses.includes(address)) addresses.push(address);
  for (const address of parse(remote === '' ? loopback : remote)) {
    if (addresses.at(-1) !== address) addresses.push(address);
  }
  return addresses;
}

/** The canonical text of an address; [] for anything else. IPv4 may have leading zeros, and be mapped into IPv6. */
function parse(text: string): string[] {
  const plain = text.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
  if (/^\d{1,20}(\.\d{1,20}){3}$/.test(plain)) {
    const octets = plain.split('.').map(Number);
    return octets.every((octet) => octet <= 255) ? [octets.join('.')] : [];
  }
  if (ipVersion(plain) !== 6 || plain.includes('%')) return [];
  return [new URL(`http://[${plain}]`).hostname.slice(1, -1)];
}
