import { selfDescribed } from './format.ts';
import { CborWriter } from './writer.ts';

const fieldCount = 2;

/** The bytes before the object, by type of event. */
const starts = new Map<string, Buffer>();

function startOf(type: string): Buffer {
  const known = starts.get(type);
  if (known) return known;
  const writer = new CborWriter();
  writer.raw(selfDescribed);
  writer.map(fieldCount);
  for (const text of ['type', type, 'object']) writer.text(text);
  const made = writer.finish();
  starts.set(type, made);
  return made;
}

/** Encodes a watch event as an item of a CBOR sequence (RFC 8742); it holds the object in its self-described tag. */
export const watchFrame = (type: string, object: Uint8Array): Buffer => Buffer.concat([startOf(type), object]);
