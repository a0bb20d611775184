import { limits } from '../../../base/limits.ts';
import { colon, comma } from '../../../codec/json-characters.ts';

/**
 * Whether work on a document would hold the event loop too long. What counts is the number of its parts; JSON and YAML text
 * cannot have many without as many commas, colons or line breaks, a message not without as many bytes. Looks at small
 * documents not at all, at large ones no further than to the bound.
 */
export function isHeavy(bytes: Uint8Array, format: 'text' | 'protobuf'): boolean {
  if (bytes.length <= limits.lightBytesMax) return false;
  if (bytes.length > limits.inlineBytesMax) return true;
  if (format === 'protobuf') return bytes.length > 2 * limits.lightBytesMax;
  return countParts(bytes, limits.inlinePartsMax) > limits.inlinePartsMax;
}

/** Commas, colons and line breaks; counted no further than about `max`. */
export function countParts(bytes: Uint8Array, max: number): number {
  let parts = 0;
  for (let start = 0; start < bytes.length && parts <= max; start += blockBytes) {
    const end = Math.min(start + blockBytes, bytes.length);
    for (let at = start; at < end; at++) parts += isPart[bytes[at] as number] as number;
  }
  return parts;
}

const blockBytes = 1_024;

/** By byte: 1 for those that are counted. A look-up takes half as long as three comparisons. */
const isPart = new Uint8Array(256);
for (const byte of [comma, colon, 0x0a]) isPart[byte] = 1;
