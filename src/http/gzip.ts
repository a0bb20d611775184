import { crc32, gzipSync } from 'node:zlib';
import { boundedMemo } from '../base/bounded-memo.ts';
import { limits } from '../base/limits.ts';
import { parseQuality } from './accept.ts';

/** Level 1: by far the cheapest, and only a little larger than the others for JSON. */
export const gzipLevel = 1;

/** Whether a client takes gzip, by its `Accept-Encoding` (RFC 9110 section 12.5.3). */
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

/** Below this a body fits one packet whatever is done to it, and setting up a compressor costs as much as the request. */
const storedBytesMax = 1024;

/**
 * A whole body in gzip format (RFC 1952), made at once. Bodies of up to some 64 KiB: longer ones hold up all others. The
 * bytes must never change: those of an object that is read again and again are compressed once.
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

/** Bodies that were compressed before. Most never are again, so only what comes a second time is kept. */
const seen = new WeakSet<Uint8Array>();
const kept = new Map<Uint8Array, Buffer>();
let keptBytes = 0;

/** The oldest go first. */
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

/** One stored block (RFC 1951 section 3.2.4): 23 bytes more than the body, and next to no work. */
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
