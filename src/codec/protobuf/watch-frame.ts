import { WireWriter } from '../../base/protobuf-wire.ts';

const numbers = { type: 1, object: 2, raw: 1 } as const;

/**
 * Encodes a watch event in protobuf: a four-byte big-endian length, then the message `WatchEvent`, without an envelope,
 * which contains the object in its envelope.
 */
export function watchFrame(type: string, object: Uint8Array): Buffer {
  const writer = new WireWriter();
  writer.raw(object);
  writer.delimit(numbers.raw, 0);
  writer.delimit(numbers.object, 0);
  const before = writer.length;
  writer.text(type);
  writer.delimit(numbers.type, before);
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(writer.length);
  writer.raw(length);
  return writer.finish();
}
