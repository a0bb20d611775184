import { limits } from '../../../base/limits.ts';
import { colon, comma } from '../../../codec/json-characters.ts';

/**
 * True if work on a document would hold the event loop too long. Cost depends on the number of parts: JSON and YAML
 * text needs a comma, colon or line break per part, binary formats at least a byte. Small documents are not scanned, large
 * ones only up to the limit.
 */
export function isHeavy(bytes: Uint8Array, format: 'text' | 'binary'): boolean {
  if (bytes.length <= limits.lightBytesMax) return false;
  if (bytes.length > limits.inlineBytesMax) return true;
  if (format === 'binary') return bytes.length > 2 * limits.lightBytesMax;
  return countParts(bytes, limits.inlinePartsMax) > limits.inlinePartsMax;
}

/** Counts commas, colons and line breaks, up to about `max`. */
export function countParts(bytes: Uint8Array, max: number): number {
  let parts = 0;
  for (let start = 0; start < bytes.length && parts <= max; start += blockBytes) {
    const end = Math.min(start + blockBytes, bytes.length);
    for (let at = start; at < end; at++) parts += isPart[bytes[at] as number] as number;
  }
  return parts;
}

const blockBytes = 1_024;

/** 1 for the bytes that are counted. A table lookup takes half as long as three comparisons. */
const isPart = new Uint8Array(256);
for (const byte of [comma, colon, 0x0a]) isPart[byte] = 1;
