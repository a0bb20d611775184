import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FrameHead, FrameReader, frameFlag, frameOf, frameType } from './http2-frames.ts';

const headers = frameOf({ type: frameType.headers, flags: frameFlag.endHeaders, stream: 5 }, Buffer.from('head'));
const data = frameOf({ type: frameType.data, flags: 0, stream: 5 }, Buffer.from('some bytes'));
const end = frameOf({ type: frameType.data, flags: frameFlag.endStream, stream: 5 }, Buffer.alloc(0));
const settings = frameOf({ type: frameType.settings, flags: frameFlag.ack, stream: 0 }, Buffer.alloc(0));
const connection = Buffer.concat([headers, data, end, settings]);

/** What a reader tells of a connection, whose data is put together again. */
function readIn(parts: readonly Buffer[]): string[] {
  const seen: string[] = [];
  let body = '';
  const describe = ({ type, flags, stream }: FrameHead, payload: string): string =>
    `${type} ${flags} ${stream} ${payload}`;
  const reader = new FrameReader({
    data(frame, part, last) {
      body += part.toString();
      if (!last) return;
      seen.push(describe(frame, body));
      body = '';
    },
    frame: (frame, payload) => seen.push(describe(frame, payload.toString())),
  });
  for (const part of parts) reader.read(part);
  return seen;
}

test('frames are found wherever the connection is cut', () => {
  const whole = readIn([connection]);
  assert.deepEqual(whole, ['1 4 5 head', '0 0 5 some bytes', '0 1 5 ', '4 1 0 ']);
  for (let cut = 1; cut < connection.length; cut++) {
    assert.deepEqual(readIn([connection.subarray(0, cut), connection.subarray(cut)]), whole, `cut at ${cut}`);
  }
  assert.deepEqual(readIn(Array.from(connection, (byte) => Buffer.of(byte))), whole);
});
