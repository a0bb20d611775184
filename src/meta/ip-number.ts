import type { IpFamily } from './ip-address.ts';

/** Addresses as numbers, to compute with. */

/** The number of an address in a form that the platform reads, of its notation: 32 or 128 bits. */
export function addressNumber(text: string): bigint {
  if (!text.includes(':')) return text.split('.').reduce((number, part) => (number << 8n) | BigInt(part), 0n);
  const dotted = text.slice(text.lastIndexOf(':') + 1);
  if (dotted.includes('.')) {
    const number = addressNumber(dotted);
    return addressNumber(
      `${text.slice(0, -dotted.length)}${(number >> 16n).toString(16)}:${(number & 0xffffn).toString(16)}`,
    );
  }
  const [before = [], after = []] = text.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].reduce((number, group) => (number << 16n) | BigInt(`0x${group}`), 0n);
}

const groupsOf = (number: bigint, bits: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) =>
    Number((number >> BigInt(bits * (count - 1 - index))) & ((1n << BigInt(bits)) - 1n)),
  );

/** The text of an address: four numbers, or the form of RFC 5952. */
export function addressText(number: bigint, family: IpFamily): string {
  if (family === 'ipv4') return groupsOf(number, 8, 4).join('.');
  if (number >> 32n === 0xffffn) return `::ffff:${addressText(number & 0xffff_ffffn, 'ipv4')}`;
  const groups = groupsOf(number, 16, 8);
  const { start, length } = longestZeros(groups);
  const texts = groups.map((group) => group.toString(16));
  return length < 2 ? texts.join(':') : `${texts.slice(0, start).join(':')}::${texts.slice(start + length).join(':')}`;
}

/** The first of the longest runs of zeros. */
function longestZeros(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let [found, length] = [{ start: 0, length: 0 }, 0];
  for (const [index, group] of groups.entries()) {
    length = group === 0 ? length + 1 : 0;
    if (length > found.length) found = { start: index - length + 1, length };
  }
  return found;
}
