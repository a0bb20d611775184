import { limits } from '../../base/limits.ts';
import { colon, comma } from '../../codec/json-characters.ts';

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

/** Commas, colons and line breaks; counted no further than one past `max`. */
export function countParts(bytes: Uint8Array, max: number): number {
  let parts = 0;
  for (let at = 0; at < bytes.length && parts <= max; at++) {
    const byte = bytes[at];
    if (byte === comma || byte === colon || byte === lineBreak) parts++;
  }
  return parts;
}

const lineBreak = 0x0a;
