import { frameHeadBytes, framePayloadMin } from './frames.ts';
import { writeInteger } from './hpack/encoder.ts';
import { huffmanEncode, huffmanLength } from './hpack/huffman.ts';

/** Arbitrary frames and header blocks, valid or invalid. */

/** RFC 9113 section 4.1. */
export function rawFrame(type: number, flags: number, stream: number, payload: Uint8Array = noBytes): Buffer {
  const frame = Buffer.alloc(frameHeadBytes + payload.length);
  frame.writeUIntBE(payload.length, 0, 3);
  frame[3] = type;
  frame[4] = flags;
  frame.writeUInt32BE(stream, 5);
  frame.set(payload, frameHeadBytes);
  return frame;
}

/** Literal representations of a field (RFC 7541 section 6.2). */
export const literalForms = {
  indexed: { prefixMask: 0x3f, first: 0x40 },
  notIndexed: { prefixMask: 0x0f, first: 0 },
  neverIndexed: { prefixMask: 0x0f, first: 0x10 },
} as const;

export interface LiteralOptions {
  readonly form?: keyof typeof literalForms;
  readonly huffman?: boolean;
  /** Index of the name in the tables, instead of the name. */
  readonly nameIndex?: number;
}

/** A literal field. Each character of name and value is one byte, valid or not. */
export function rawField(name: string, value: string, options: LiteralOptions = {}): Buffer {
  const { form = 'notIndexed', huffman = false, nameIndex = 0 } = options;
  const head = rawInteger(nameIndex, literalForms[form]);
  const texts = nameIndex === 0 ? [name, value] : [value];
  return Buffer.concat([head, ...texts.map((text) => rawText(text, huffman))]);
}

/** An indexed field (RFC 7541 section 6.1). */
export const rawIndex = (index: number): Buffer => rawInteger(index, { prefixMask: 0x7f, first: 0x80 });

/** A dynamic table size update (RFC 7541 section 6.3). */
export const rawTableSize = (bytes: number): Buffer => rawInteger(bytes, { prefixMask: 0x1f, first: 0x20 });

export function rawInteger(value: number, prefix: { readonly prefixMask: number; readonly first: number }): Buffer {
  const bytes = Buffer.alloc(12);
  return bytes.subarray(0, writeInteger(value, prefix, bytes, 0));
}

export function rawText(text: string, huffman: boolean): Buffer {
  if (!huffman)
    return Buffer.concat([rawInteger(text.length, { prefixMask: 0x7f, first: 0 }), Buffer.from(text, 'latin1')]);
  const length = huffmanLength(text);
  const code = Buffer.alloc(length);
  huffmanEncode(text, code, 0);
  return Buffer.concat([rawInteger(length, { prefixMask: 0x7f, first: 0x80 }), code]);
}

/** A header block as HEADERS and the CONTINUATION frames it needs. */
export function rawHeaders(stream: number, flags: number, block: Buffer, payloadMax = framePayloadMin): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at === 0 || at < block.length; at += payloadMax) {
    const part = block.subarray(at, at + payloadMax);
    const endHeaders = at + part.length === block.length ? 4 : 0;
    parts.push(at === 0 ? rawFrame(1, flags | endHeaders, stream, part) : rawFrame(9, endHeaders, stream, part));
  }
  return Buffer.concat(parts);
}

/** The payload of frames that hold one number. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}

/** The payload of SETTINGS. */
export const rawSettings = (...settings: readonly (readonly [identifier: number, value: number])[]): Buffer =>
  Buffer.concat(settings.flatMap(([identifier, value]) => [uint32(identifier).subarray(2), uint32(value)]));

const noBytes = Buffer.alloc(0);
