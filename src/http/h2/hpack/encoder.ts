import { boundedMemo } from '../../../base/bounded-memo.ts';
import { huffmanEncode, huffmanLength } from './huffman.ts';
import { staticTable } from './static-table.ts';

/**
 * Header fields as they go out. Nothing is put into the peer's table, so that the bytes of a field are the same on every
 * connection, whatever went before, and are made once. It costs some 50 bytes a response, which Huffman codes them to.
 */

/** The first thing in the first block of a connection: our side uses no table, whatever the peer allows (RFC 7541 section 4.2). */
export const noTable: Buffer = Buffer.from([0x20]);

/** The bytes of one field. The name is in lower case; the value has no characters beyond 0xff. */
export function encodedField(name: string, value: string): Buffer {
  return fieldsOf(name)(value);
}

/** Fields whose values no two responses share: to keep those, or to make them short, costs more than their bytes. */
const unshared: ReadonlySet<string> = new Set(['audit-id']);

/** Names are those of the program; values are mostly few, and what they are else is not kept for long. */
const fieldsOf = boundedMemo(
  (name) =>
    unshared.has(name)
      ? plainFields(name)
      : boundedMemo((value) => encodeField(name, value), { countMax: 512, lengthMax: 256 }),
  {
    countMax: 256,
    lengthMax: 64,
  },
);

/** Encodes values of this name as they are. */
function plainFields(name: string): (value: string) => Buffer {
  const head = encodeField(name, '').subarray(0, -1);
  return (value) => {
    if (value.length >= 0x7f) return encodeField(name, value);
    if (invalidValue.test(value)) throw new TypeError(`header ${name} has an invalid value`);
    const bytes = Buffer.allocUnsafe(head.length + 1 + value.length);
    bytes.set(head);
    bytes[head.length] = value.length;
    bytes.write(value, head.length + 1, 'latin1');
    return bytes;
  };
}

const wholeIndex = new Map(staticTable.map(([name, value], at) => [`${name}\0${value}`, at + 1]));
/** The first index of each name. */
const nameIndex = new Map(staticTable.map(([name], at) => [name, at + 1] as const).reverse());

/** What no field can hold (RFC 9113 section 8.2.1). */
const invalidValue = /[^\t\x20-\x7e\x80-\xff]/;

function encodeField(name: string, value: string): Buffer {
  if (invalidValue.test(value)) throw new TypeError(`header ${name} has an invalid value`);
  const known = wholeIndex.get(`${name}\0${value}`);
  if (known !== undefined) return Buffer.from([0x80 | known]);
  const index = nameIndex.get(name);
  const bytes = Buffer.alloc(16 + name.length + value.length);
  // A literal that is not indexed (RFC 7541 section 6.2.2).
  let at = writeInteger(index ?? 0, { prefixMask: 0x0f, first: 0 }, bytes, 0);
  if (index === undefined) at = writeText(name, bytes, at);
  at = writeText(value, bytes, at);
  return bytes.subarray(0, at);
}

/** RFC 7541 section 5.2, in the shorter of its two forms. */
function writeText(text: string, target: Buffer, from: number): number {
  const short = huffmanLength(text);
  if (short < text.length) {
    return huffmanEncode(text, target, writeInteger(short, { prefixMask: 0x7f, first: 0x80 }, target, from));
  }
  const at = writeInteger(text.length, { prefixMask: 0x7f, first: 0 }, target, from);
  return at + target.write(text, at, 'latin1');
}

/** RFC 7541 section 5.1. `first` holds the bits in front of the prefix. Returns where the integer ends. */
export function writeInteger(
  value: number,
  { prefixMask, first }: { readonly prefixMask: number; readonly first: number },
  target: Uint8Array,
  from: number,
): number {
  if (value < prefixMask) {
    target[from] = first | value;
    return from + 1;
  }
  target[from] = first | prefixMask;
  let at = from + 1;
  let rest = value - prefixMask;
  for (; rest >= 128; rest = Math.floor(rest / 128)) {
    target[at] = (rest & 0x7f) | 0x80;
    at += 1;
  }
  target[at] = rest;
  return at + 1;
}
