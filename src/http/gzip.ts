import { crc32, gzipSync } from 'node:zlib';
import { boundedMemo } from '../base/collections/bounded-memo.ts';
import { limits } from '../base/limits.ts';
import { parseQuality } from './accept.ts';

/** By far the cheapest level, and for JSON only slightly larger than the others. */
export const gzipLevel = 1;

/** Whether the client accepts gzip, by its `Accept-Encoding` (RFC 9110 section 12.5.3). */
export const acceptsGzip: (header: string) => boolean = boundedMemo(
  (header) => {
    let any = false;
    for (const part of header.split(',')) {
      const [coding = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
      const accepted = parseQuality(parameters.find((each) => each.startsWith('q='))?.slice(2)) > 0;
      if (coding === 'gzip' || coding === 'x-gzip') return accepted;
      if (coding === '*') any = accepted;
    }
    return any;
  },
  { countMax: 256, lengthMax: 256 },
);

/** A body this short fits in one packet anyway, and setting up a compressor costs as much as the request. */
const storedBytesMax = 1024;

/**
 * Compresses a whole body to gzip (RFC 1952) synchronously. For bodies up to about 64 KiB: longer ones would block
 * the event loop. The bytes must never change: results for repeatedly read objects are cached.
 */
export function gzipWhole(body: Uint8Array): Buffer {
  if (body.length <= storedBytesMax) return gzipStored(body);
  const known = kept.get(body);
  if (known) return known;
  const compressed = gzipSync(body, { level: gzipLevel });
  if (seen.has(body)) keep(body, compressed);
  else seen.add(body);
  return compressed;
}

/** Compressed bodies. Most are requested only once, so a body is cached the second time. */
const seen = new WeakSet<Uint8Array>();
const kept = new Map<Uint8Array, Buffer>();
let keptBytes = 0;

/** Evicts the oldest entries. */
function keep(body: Uint8Array, compressed: Buffer): void {
  kept.set(body, compressed);
  keptBytes += body.length + compressed.length;
  for (const [oldest, its] of kept) {
    if (keptBytes <= limits.gzipKeptBytesMax) break;
    kept.delete(oldest);
    keptBytes -= oldest.length + its.length;
  }
}

const memberHeader = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);

/** One stored block (RFC 1951 section 3.2.4): 23 bytes longer than the body, at almost no cost. */
function gzipStored(body: Uint8Array): Buffer {
  const { length } = body;
  const result = Buffer.allocUnsafe(length + 23);
  result.set(memberHeader, 0);
  result[10] = 1;
  result.writeUInt16LE(length, 11);
  result.writeUInt16LE(~length & 0xffff, 13);
  result.set(body, 15);
  result.writeUInt32LE(crc32(body), length + 15);
  result.writeUInt32LE(length, length + 19);
  return result;
}
