import type { Readable } from 'node:stream';

/**
 * Messages on a connection: each is a frame of
 *
 *     4 bytes: length of the rest   4 bytes: length of the head   the head, JSON   bytes of the values
 *
 * A value stands in the head as `{"bytes": n}`, and its bytes follow those of the values before it. So values are neither
 * parsed nor encoded.
 */
export function encodeFrame(message: unknown): Buffer {
  const values: Uint8Array[] = [];
  const head = Buffer.from(JSON.stringify(takeOut(message, values)));
  const bytes = values.reduce((sum, { length }) => sum + length, 0);
  const frame = Buffer.allocUnsafe(prefixBytes + head.length + bytes);
  frame.writeUInt32BE(4 + head.length + bytes, 0);
  frame.writeUInt32BE(head.length, 4);
  let at = prefixBytes + head.copy(frame, prefixBytes);
  for (const value of values) {
    frame.set(value, at);
    at += value.length;
  }
  return frame;
}

const prefixBytes = 8;

function takeOut(message: unknown, values: Uint8Array[]): unknown {
  if (message instanceof Uint8Array) {
    values.push(message);
    return { bytes: message.length };
  }
  if (Array.isArray(message)) return message.map((each) => takeOut(each, values));
  if (typeof message !== 'object' || message === null) return message;
  return Object.fromEntries(Object.entries(message).map(([name, each]) => [name, takeOut(each, values)]));
}

/** A peer that does not keep to the format. */
export class FrameError extends Error {}

/**
 * The messages of a connection until it ends. Throws a FrameError for what is no frame or is longer than `bytesMax`, and
 * the error of the connection. Values are views of what was received.
 */
export async function* readFrames(connection: Readable, bytesMax: number): AsyncGenerator<unknown, void> {
  const waiting: Buffer[] = [];
  let received = 0;
  let needed = prefixBytes;
  for await (const chunk of connection as AsyncIterable<Buffer>) {
    waiting.push(chunk);
    received += chunk.length;
    while (received >= needed) {
      const bytes = waiting.length === 1 && waiting[0] ? waiting[0] : Buffer.concat(waiting, received);
      const length = frameLength(bytes, bytesMax);
      if (received < length) {
        waiting.splice(0, waiting.length, bytes);
        needed = length;
        break;
      }
      yield decodeFrame(bytes.subarray(0, length));
      received -= length;
      waiting.splice(0, waiting.length, bytes.subarray(length));
      needed = prefixBytes;
    }
  }
}

function frameLength(bytes: Buffer, bytesMax: number): number {
  const length = 4 + bytes.readUInt32BE(0);
  if (length < prefixBytes) throw new FrameError('a frame without a head');
  if (length > bytesMax) throw new FrameError(`a frame of ${length} bytes, more than ${bytesMax}`);
  return length;
}

function decodeFrame(frame: Buffer): unknown {
  const headEnd = prefixBytes + frame.readUInt32BE(4);
  if (headEnd > frame.length) throw new FrameError('a head longer than its frame');
  let at = headEnd;
  const putIn = (_name: string, each: unknown): unknown => {
    const bytes = valueLength(each);
    if (bytes === undefined) return each;
    at += bytes;
    if (at > frame.length) throw new FrameError('a value beyond the end of its frame');
    return frame.subarray(at - bytes, at);
  };
  try {
    return JSON.parse(frame.toString('utf8', prefixBytes, headEnd), putIn);
  } catch (error) {
    throw error instanceof FrameError ? error : new FrameError('a head that is no JSON');
  }
}

/** The reviver visits values in the order in which they stand in the text, as they were taken out. */
function valueLength(each: unknown): number | undefined {
  if (typeof each !== 'object' || each === null || !('bytes' in each)) return undefined;
  const { bytes } = each;
  return typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : undefined;
}
