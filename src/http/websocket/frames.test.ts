import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { limits } from '../../base/limits.ts';
import { ClientFrameReader, closeFrame, FrameError, frameOf, opcodes } from './frames.ts';
import { clientFrame } from './websocket-fixture.ts';

describe('a frame of the server', () => {
  for (const [length, head] of [
    [0, '8100'],
    [5, '8105'],
    [125, '817d'],
    [126, '817e007e'],
    [65_535, '817effff'],
    [65_536, '817f0000000000010000'],
    [3_000_000, '817f00000000002dc6c0'],
  ] as const) {
    it(`of ${length} bytes is not masked, with its length in as few bytes as there can be`, () => {
      const payload = Buffer.alloc(length, 'x');
      assert.equal(frameOf(opcodes.text, payload).toString('hex'), head + payload.toString('hex'));
    });
  }

  it('matches RFC 6455 section 5.7', () => {
    assert.equal(frameOf(opcodes.text, Buffer.from('Hello')).toString('hex'), '810548656c6c6f');
    assert.equal(frameOf(opcodes.ping, Buffer.from('Hello')).toString('hex'), '890548656c6c6f');
    assert.equal(frameOf(opcodes.binary, Buffer.alloc(256)).subarray(0, 4).toString('hex'), '827e0100');
    assert.equal(closeFrame(1000).toString('hex'), '880203e8');
  });
});

/** Reads bytes and reports pings and the outcome. */
function read(chunks: Iterable<Buffer>): readonly string[] {
  const told: string[] = [];
  const reader = new ClientFrameReader({
    ping: (payload) => told.push(`ping ${payload}`),
    close: (code) => told.push(`close ${code}`),
  });
  try {
    for (const chunk of chunks) reader.read(chunk);
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    told.push(`error ${error.code}`);
  }
  return told;
}

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const code = (number: number, words = ''): Buffer => {
  const payload = Buffer.alloc(2 + Buffer.byteLength(words));
  payload.writeUInt16BE(number);
  payload.write(words, 2);
  return payload;
};
const most = Buffer.alloc(limits.webSocketMessageBytesMax);
const { text, binary, continuation, ping, pong, close } = opcodes;

const cases: readonly (readonly [what: string, frames: readonly Buffer[], told: readonly string[]])[] = [
  ['nothing', [], []],
  ['the masked Hello of RFC 6455 section 5.7', [hex('818537fa213d7f9f4d5158')], []],
  ['the masked pong of it', [hex('8a8537fa213d7f9f4d5158')], []],
  ['a ping', [clientFrame(ping, 'a')], ['ping a']],
  [
    'pings',
    [clientFrame(ping, 'a'), clientFrame(ping), clientFrame(ping, 'b'.repeat(125))],
    ['ping a', 'ping ', `ping ${'b'.repeat(125)}`],
  ],
  ['messages', [clientFrame(text, 'a'), clientFrame(binary, 'b'.repeat(1_000)), clientFrame(ping, 'c')], ['ping c']],
  ['the longest message', [clientFrame(text, most), clientFrame(text, most), clientFrame(ping)], ['ping ']],
  [
    'a message in pieces',
    [
      clientFrame(text, 'a', { last: false }),
      clientFrame(continuation, 'b', { last: false }),
      clientFrame(continuation, 'c'),
      clientFrame(text, 'd'),
      clientFrame(ping),
    ],
    ['ping '],
  ],
  [
    'a ping between pieces',
    [
      clientFrame(text, 'a', { last: false }),
      clientFrame(ping, 'b'),
      clientFrame(continuation, 'c'),
      clientFrame(ping),
    ],
    ['ping b', 'ping '],
  ],
  ['an end without a code', [clientFrame(close)], ['close 1000']],
  ['an end', [clientFrame(close, code(1001, 'away'))], ['close 1001']],
  ['the end of an application', [clientFrame(close, code(4999))], ['close 4999']],
  ['what comes after the end', [clientFrame(close, code(1000)), clientFrame(ping), hex('ff')], ['close 1000']],
  ['a message that is too long', [clientFrame(text, Buffer.concat([most, hex('00')]))], ['error 1009']],
  [
    'one in pieces that is too long',
    [clientFrame(text, most, { last: false }), clientFrame(continuation, 'x')],
    ['error 1009'],
  ],
  ['one that says it is enormous', [hex('81ff7fffffffffffffff00000000')], ['error 1009']],
  ['one whose length has the highest bit', [hex('81ffffffffffffffffff00000000')], ['error 1009']],
  ['an unmasked message', [frameOf(text, Buffer.from('a'))], ['error 1002']],
  ['an unmasked ping', [frameOf(ping, Buffer.from('a'))], ['error 1002']],
  ['a length in too many bytes', [hex('81fe000500000000')], ['error 1002']],
  ['a length in eight bytes where two do', [hex('81ff000000000000ffff00000000')], ['error 1002']],
  ['a first reserved bit', [hex('c180')], ['error 1002']],
  ['a second', [hex('a180')], ['error 1002']],
  ['a third', [hex('9180')], ['error 1002']],
  ['a piece of nothing', [clientFrame(continuation, 'a')], ['error 1002']],
  [
    'a message among pieces of another',
    [clientFrame(text, 'a', { last: false }), clientFrame(text, 'b')],
    ['error 1002'],
  ],
  ['a ping in pieces', [clientFrame(ping, 'a', { last: false })], ['error 1002']],
  ['a long ping', [clientFrame(ping, 'a'.repeat(126))], ['error 1002']],
  ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map(
    (opcode) => [`a frame of kind ${opcode}`, [clientFrame(opcode)], ['error 1002']] as const,
  ),
  ['half a code', [clientFrame(close, 'x')], ['error 1002']],
  ...[0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535].map(
    (number) => [`an end with the code ${number}`, [clientFrame(close, code(number))], ['error 1002']] as const,
  ),
  ['an end whose words are not UTF-8', [clientFrame(close, Buffer.concat([code(1000), hex('c3')]))], ['error 1007']],
  ['a pong that nobody asked for', [clientFrame(pong, 'a')], []],
];

describe('of a client', () => {
  for (const [what, frames, told] of cases) {
    it(`${what}: ${told.join(', ') || 'nothing to do'}`, () => {
      const bytes = Buffer.concat(frames);
      assert.deepEqual(read(frames), told, 'frame by frame');
      assert.deepEqual(read([bytes]), told, 'at once');
      if (bytes.length < 10_000) {
        assert.deepEqual(read(Array.from(bytes, (byte) => Buffer.from([byte]))), told, 'byte by byte');
      }
    });
  }

  it('is parsed the same however it is split', () => {
    const any = fc.constantFrom(...cases.map(([, frames]) => frames));
    const cuts = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 6 }), cuts, (several, lengths) => {
        const bytes = Buffer.concat(several.flat());
        const chunks: Buffer[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const length = lengths[turn % lengths.length] ?? 1;
          chunks.push(bytes.subarray(at, at + length));
          at += length;
        }
        assert.deepEqual(read(chunks), read([bytes]));
      }),
    );
  });

  it('arbitrary bytes are parsed or rejected', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
        const told = read([Buffer.from(bytes)]);
        assert.ok(told.filter((each) => !each.startsWith('ping ')).length <= 1);
      }),
      { numRuns: 2_000 },
    );
  });
});
