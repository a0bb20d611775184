import { WireWriter } from '../../base/protobuf-wire.ts';

const numbers = { type: 1, object: 2, raw: 1 } as const;

/**
 * An event of a watch in protobuf: its length in four bytes, the highest first, then the message `WatchEvent`, in no
 * envelope of its own, around an object in its envelope.
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
