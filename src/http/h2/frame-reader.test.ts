import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import fc from 'fast-check';
import { FrameReader } from './frame-reader.ts';
import { ConnectionError, errorCode, frameFlag, frameType } from './frames.ts';
import { rawFrame } from './raw-frames-fixture.ts';

interface Read {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly length: number;
  readonly content: string;
}

/** All frames in `chunks`, with the parts of DATA joined. */
function readAll(chunks: readonly Buffer[], payloadMax = 1_000): Read[] {
  const reader = new FrameReader(payloadMax);
  const frames: Read[] = [];
  let parts: Buffer[] = [];
  for (const chunk of chunks) {
    reader.push(chunk);
    for (let found = reader.next(); found !== 'nothing'; found = reader.next()) {
      const { type, flags, stream, length } = reader;
      const bytes = Buffer.from(reader.bytes.subarray(reader.from, reader.to));
      if (found === 'frame') frames.push({ type, flags, stream, length, content: bytes.toString('hex') });
      else {
        assert.equal(type, frameType.data);
        assert.equal(reader.first, parts.length === 0);
        parts.push(bytes);
        if (!reader.last) continue;
        frames.push({ type, flags, stream, length, content: Buffer.concat(parts).toString('hex') });
        parts = [];
      }
    }
  }
  return frames;
}

const padded = fc.record({
  type: fc.constantFrom(frameType.data, frameType.headers, frameType.ping, frameType.settings, 0x2a),
  stream: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  flags: fc.integer({ min: 0, max: 255 }),
  content: fc.uint8Array({ maxLength: 700 }),
  padding: fc.integer({ min: 0, max: 255 }),
});

test('frames are the same however the input is split', () => {
  fc.assert(
    fc.property(fc.array(padded, { maxLength: 6 }), fc.array(fc.integer({ min: 1, max: 400 })), (sent, cuts) => {
      const expected: Read[] = [];
      const bytes: Buffer[] = [];
      for (const { type, stream, flags, content, padding } of sent) {
        const mayPad = type === frameType.data || type === frameType.headers;
        const isPadded = mayPad && (flags & frameFlag.padded) !== 0;
        const payload = isPadded ? Buffer.concat([Buffer.from([padding]), content, Buffer.alloc(padding)]) : content;
        bytes.push(rawFrame(type, flags, stream, payload));
        expected.push({ type, flags, stream, length: payload.length, content: Buffer.from(content).toString('hex') });
      }
      const all = Buffer.concat(bytes);
      const chunks: Buffer[] = [];
      let at = 0;
      for (let cut = 0; at < all.length; cut += 1) {
        const length = cuts[cut % Math.max(1, cuts.length)] ?? all.length;
        chunks.push(all.subarray(at, at + length));
        at += length;
      }
      assert.deepEqual(readAll(chunks), expected);
    }),
    { numRuns: 1_000 },
  );
});

test('the reserved bit of a stream identifier is ignored', () => {
  assert.equal(readAll([rawFrame(frameType.ping, 0, 0x8000_0001)])[0]?.stream, 1);
});

describe('a frame that is refused', () => {
  const data = (flags: number, payload: Buffer): Buffer => rawFrame(frameType.data, flags, 1, payload);
  const headers = (flags: number, payload: Buffer): Buffer => rawFrame(frameType.headers, flags, 1, payload);
  const rows: readonly (readonly [what: string, bytes: Buffer, code: number])[] = [
    ['longer than allowed', data(0, Buffer.alloc(1_001)), errorCode.frameSizeError],
    [
      'longer than allowed, of which only the head came',
      data(0, Buffer.alloc(1_001)).subarray(0, 9),
      errorCode.frameSizeError,
    ],
    [
      'DATA with more padding than content',
      data(frameFlag.padded, Buffer.from([5, 0, 0, 0, 0])),
      errorCode.protocolError,
    ],
    ['DATA that is padded and empty', data(frameFlag.padded, Buffer.alloc(0)), errorCode.protocolError],
    [
      'HEADERS with more padding than content',
      headers(frameFlag.padded, Buffer.from([5, 0, 0])),
      errorCode.protocolError,
    ],
    ['HEADERS that are padded and empty', headers(frameFlag.padded, Buffer.alloc(0)), errorCode.protocolError],
  ];
  for (const [what, bytes, code] of rows) {
    it(what, () =>
      assert.throws(
        () => readAll([bytes]),
        (error) => error instanceof ConnectionError && error.code === code,
      ),
    );
  }

  it('unless padding is the whole payload, which is valid', () => {
    const payload = Buffer.from([4, 0, 0, 0, 0]);
    assert.deepEqual(
      readAll([data(frameFlag.padded, payload), headers(frameFlag.padded, payload)]).map(({ content }) => content),
      ['', ''],
    );
  });
});
