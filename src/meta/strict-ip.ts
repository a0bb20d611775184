import { isIpv6 } from '../base/ip-version.ts';
import { addressNumber, addressText } from './ip-number.ts';

/** IP addresses and prefixes as Go's `net/netip` reads them, which newer releases of kube-apiserver will require. */

interface Canonical {
  /** RFC 5952. */
  readonly canonical: string;
  readonly notation: 'ipv4' | 'ipv6';
}

/** What is wrong, in the words of `net/netip`. */
interface Problem {
  readonly problem: string;
}

const quoted = (text: string): string => JSON.stringify(text);

/** Reads an address, without a zone unless it is IPv6. */
export function strictAddress(text: string): Canonical | Problem {
  const problem = (message: string): Problem => ({ problem: `ParseAddr(${quoted(text)}): ${message}` });
  const separator = /[.:%]/.exec(text)?.[0];
  if (separator === '%') return problem('missing IPv6 address');
  if (separator === '.') {
    const found = dottedProblem(text);
    return found === undefined ? { canonical: text, notation: 'ipv4' } : problem(found);
  }
  if (separator === undefined || !isIpv6(text)) return problem('unable to parse IP');
  const [address = '', zone] = text.split('%');
  const canonical = addressText(addressNumber(address), 'ipv6');
  return { canonical: zone === undefined ? canonical : `${canonical}%${zone}`, notation: 'ipv6' };
}

function dottedProblem(text: string): string | undefined {
  const at = (message: string, index: number): string => `${message} (at ${quoted(text.slice(index))})`;
  let [value, digits, dots] = [0, 0, 0];
  for (const [index, each] of [...text].entries()) {
    if (/\d/.test(each)) {
      if (digits === 1 && value === 0) return 'IPv4 field has octet with leading zero';
      value = value * 10 + Number(each);
      digits++;
      if (value > 255) return 'IPv4 field has value >255';
    } else if (each === '.') {
      if (digits === 0 || index === text.length - 1) return at('IPv4 field must have at least one digit', index);
      if (dots === 3) return 'IPv4 address too long';
      [value, digits, dots] = [0, 0, dots + 1];
    } else return at('unexpected character', index);
  }
  return dots < 3 ? 'IPv4 address too short' : undefined;
}

/** Reads an address and a length. */
export function strictPrefix(text: string): (Canonical & { readonly length: number }) | Problem {
  const problem = (message: string): Problem => ({ problem: `netip.ParsePrefix(${quoted(text)}): ${message}` });
  const slash = text.lastIndexOf('/');
  if (slash < 0) return problem("no '/'");
  const [address, bits] = [strictAddress(text.slice(0, slash)), text.slice(slash + 1)];
  if ('problem' in address) return problem(address.problem);
  if (address.canonical.includes('%')) return problem('IPv6 zones cannot be present in a prefix');
  if (!/^(0|[1-9]\d*)$/.test(bits)) return problem(`bad bits after slash: ${quoted(bits)}`);
  const length = Number(bits);
  if (length > (address.notation === 'ipv4' ? 32 : 128)) return problem('prefix length out of range');
  return { canonical: `${address.canonical}/${bits}`, notation: address.notation, length };
}
