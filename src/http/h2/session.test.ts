import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import type { Exchange } from '../exchange.ts';
import { errorCode, frameFlag, frameType, preface, windowMax } from './frames.ts';
import { rawField, rawFrame, rawHeaders, rawIndex, rawSettings, rawTableSize, uint32 } from './raw-frames-fixture.ts';
import { endStream, get, getFrame, pathFrame, post, postFrame, sessions } from './session-fixture.ts';

/** Reads the body and echoes it. */
const echo = (exchange: Exchange): void => {
  exchange.body(limits.bodyBytesMax).then(
    (body) => exchange.respond(200, { 'content-type': 'text/plain' }, body),
    () => {}, // the stream was reset
  );
};
/** Never responds. */
const hold = (exchange: Exchange): void => exchange.onEnd(() => {});

const none: Buffer = Buffer.alloc(0);
const data = (stream: number, text: string, flags = 0): Buffer =>
  rawFrame(frameType.data, flags, stream, Buffer.from(text, 'latin1'));
const settings = (flags = 0, payload = none, stream = 0): Buffer =>
  rawFrame(frameType.settings, flags, stream, payload);
const windowUpdate = (stream: number, increment: number): Buffer =>
  rawFrame(frameType.windowUpdate, 0, stream, uint32(increment));
const reset = (stream: number, code: number = errorCode.cancel): Buffer =>
  rawFrame(frameType.reset, 0, stream, uint32(code));
const openBlock = (stream: number): Buffer => rawFrame(frameType.headers, endStream, stream, get);

describe('connection errors: GOAWAY and close', () => {
  const { protocolError, frameSizeError, flowControlError, compressionError, streamClosed, enhanceYourCalm } =
    errorCode;
  const rows: readonly (readonly [what: string, code: number, ...frames: readonly Buffer[]])[] = [
    ['DATA of no stream', protocolError, data(0, 'x')],
    ['DATA of a stream that was not opened', protocolError, data(1, 'x')],
    [
      'DATA of a stream that is over',
      streamClosed,
      getFrame(1),
      rawFrame(frameType.ping, 0, 0, Buffer.alloc(8)),
      data(1, 'x'),
    ],
    ['DATA between HEADERS and CONTINUATION', protocolError, openBlock(1), data(1, 'x')],
    ['HEADERS of no stream', protocolError, getFrame(0)],
    ['HEADERS of a stream of the server', protocolError, getFrame(2)],
    ['HEADERS of a stream that was passed over', streamClosed, getFrame(5), getFrame(3)],
    ['HEADERS of a request that was ended', streamClosed, rawHeaders(1, endStream, post), getFrame(1)],
    ['HEADERS of another stream before CONTINUATION', protocolError, openBlock(1), getFrame(3)],
    [
      'HEADERS that are too short for their priority',
      frameSizeError,
      rawFrame(frameType.headers, 0x25, 1, Buffer.alloc(4)),
    ],
    [
      'HEADERS that depend on themselves',
      protocolError,
      rawFrame(frameType.headers, 0x25, 1, Buffer.concat([uint32(1), Buffer.from([0]), get])),
    ],
    ['a header block that cannot be read', compressionError, rawHeaders(1, endStream, rawIndex(100))],
    [
      'a table larger than was allowed',
      compressionError,
      rawHeaders(1, endStream, rawTableSize(limits.headerTableBytes + 1)),
    ],
    ['a header block that is cut off', compressionError, rawHeaders(1, endStream, Buffer.from('40', 'hex'))],
    ['trailers that cannot be read', compressionError, postFrame(1), rawHeaders(1, endStream, rawIndex(100))],
    ['CONTINUATION of nothing', protocolError, rawFrame(frameType.continuation, frameFlag.endHeaders, 1, get)],
    [
      'CONTINUATION behind headers that were ended',
      protocolError,
      getFrame(1),
      rawFrame(frameType.continuation, frameFlag.endHeaders, 1, none),
    ],
    [
      'CONTINUATION of another stream',
      protocolError,
      openBlock(1),
      rawFrame(frameType.continuation, frameFlag.endHeaders, 3, none),
    ],
    ['an unknown frame before CONTINUATION', protocolError, openBlock(1), rawFrame(0x42, 0, 1)],
    [
      'CONTINUATION in too many parts',
      enhanceYourCalm,
      openBlock(1),
      ...Array.from({ length: limits.headerFramesMax }, () =>
        rawFrame(frameType.continuation, 0, 1, rawField('a', '1')),
      ),
    ],
    [
      'empty CONTINUATION in too many parts',
      enhanceYourCalm,
      openBlock(1),
      ...Array.from({ length: limits.headerFramesMax }, () => rawFrame(frameType.continuation, 0, 1)),
    ],
    [
      'CONTINUATION of too many bytes',
      enhanceYourCalm,
      openBlock(1),
      ...Array.from({ length: 9 }, () => rawFrame(frameType.continuation, 0, 1, Buffer.alloc(16_000))),
    ],
    ['PRIORITY of no stream', protocolError, rawFrame(frameType.priority, 0, 0, Buffer.alloc(5))],
    ['PRIORITY of another size', frameSizeError, rawFrame(frameType.priority, 0, 1, Buffer.alloc(4))],
    [
      'PRIORITY of a stream over itself',
      protocolError,
      rawFrame(frameType.priority, 0, 3, Buffer.concat([uint32(3), Buffer.alloc(1)])),
    ],
    ['RST_STREAM of no stream', protocolError, reset(0)],
    ['RST_STREAM of a stream that was not opened', protocolError, reset(1)],
    ['RST_STREAM of another size', frameSizeError, getFrame(1), rawFrame(frameType.reset, 0, 1, Buffer.alloc(3))],
    ['SETTINGS of a stream', protocolError, settings(0, none, 1)],
    ['SETTINGS that are cut off', frameSizeError, settings(0, Buffer.alloc(3))],
    ['an acknowledgement with a payload', frameSizeError, settings(frameFlag.ack, Buffer.alloc(6))],
    ['ENABLE_PUSH of 2', protocolError, settings(0, rawSettings([2, 2]))],
    ['INITIAL_WINDOW_SIZE beyond all windows', flowControlError, settings(0, rawSettings([4, windowMax + 1]))],
    ['MAX_FRAME_SIZE below what all take', protocolError, settings(0, rawSettings([5, 16_383]))],
    ['MAX_FRAME_SIZE beyond all lengths', protocolError, settings(0, rawSettings([5, 2 ** 24]))],
    ['too many settings', enhanceYourCalm, settings(0, Buffer.alloc(6 * (limits.settingsMax + 1)))],
    [
      'an INITIAL_WINDOW_SIZE that makes a window too large',
      flowControlError,
      pathFrame(1, '/hold'),
      windowUpdate(1, windowMax - 65_535),
      settings(0, rawSettings([4, 65_536])),
    ],
    ['PUSH_PROMISE', protocolError, rawFrame(frameType.pushPromise, 4, 1, Buffer.alloc(4))],
    ['PING of a stream', protocolError, rawFrame(frameType.ping, 0, 1, Buffer.alloc(8))],
    ['PING of another size', frameSizeError, rawFrame(frameType.ping, 0, 0, Buffer.alloc(7))],
    ['GOAWAY of a stream', protocolError, rawFrame(frameType.goaway, 0, 1, Buffer.alloc(8))],
    ['GOAWAY that is cut off', frameSizeError, rawFrame(frameType.goaway, 0, 0, Buffer.alloc(7))],
    ['WINDOW_UPDATE of another size', frameSizeError, rawFrame(frameType.windowUpdate, 0, 0, Buffer.alloc(3))],
    ['WINDOW_UPDATE of nothing for the connection', protocolError, windowUpdate(0, 0)],
    ['WINDOW_UPDATE of a stream that was not opened', protocolError, windowUpdate(1, 1)],
    ['WINDOW_UPDATE beyond all windows', flowControlError, windowUpdate(0, windowMax)],
    [
      'a frame longer than allowed',
      frameSizeError,
      rawFrame(frameType.data, 0, 1, Buffer.alloc(limits.framePayloadBytesMax + 1)),
    ],
    [
      'DATA with more padding than content',
      protocolError,
      postFrame(1),
      rawFrame(frameType.data, frameFlag.padded, 1, Buffer.from([9, 1])),
    ],
  ];
  for (const [what, code, ...frames] of rows) {
    it(what, async () => {
      await using all = await sessions((exchange) =>
        exchange.target === '/hold' ? hold(exchange) : exchange.respond(200, {}),
      );
      const client = (await all.client()).send(...frames);
      assert.equal((await client.end())?.code, code);
    });
  }

  const begun: readonly (readonly [what: string, ...bytes: readonly Buffer[]])[] = [
    ['another preface', Buffer.from('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n'), settings()],
    ['HTTP/1.1', Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n')],
    ['no SETTINGS', preface, getFrame(1)],
    ['an acknowledgement of SETTINGS', preface, settings(frameFlag.ack)],
    ['DATA', preface, data(1, 'x')],
  ];
  for (const [what, ...bytes] of begun) {
    it(`a connection that begins with ${what}`, async () => {
      await using all = await sessions(() => assert.fail('must not be handled'));
      const client = (await all.silent()).send(...bytes);
      assert.equal((await client.end())?.code, protocolError);
    });
  }
});

test('a preface that comes byte by byte', async () => {
  await using all = await sessions(echo);
  const client = await all.silent();
  for (const byte of Buffer.concat([preface, settings(), getFrame(1)])) {
    client.send(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
  assert.equal((await client.whole(1)).status, 200);
});

describe('stream errors: RST_STREAM, and the connection continues', () => {
  const { protocolError, flowControlError, streamClosed } = errorCode;
  const tooMuch = Array.from({ length: 17 }, () => rawFrame(frameType.data, 0, 1, Buffer.alloc(16_000)));
  const rows: readonly (readonly [what: string, code: number, ...frames: readonly Buffer[]])[] = [
    ['DATA of a request that was ended', streamClosed, pathFrame(1, '/hold'), data(1, 'x')],
    ['WINDOW_UPDATE of nothing', protocolError, pathFrame(1, '/hold'), windowUpdate(1, 0)],
    ['WINDOW_UPDATE beyond all windows', flowControlError, pathFrame(1, '/hold'), windowUpdate(1, windowMax)],
    [
      'more DATA than Content-Length says',
      protocolError,
      postFrame(1, rawField('content-length', '3')),
      data(1, 'abcd'),
    ],
    [
      'less DATA than Content-Length says',
      protocolError,
      postFrame(1, rawField('content-length', '3')),
      data(1, 'ab', endStream),
    ],
    [
      'no DATA although Content-Length says so',
      protocolError,
      postFrame(1, rawField('content-length', '3')),
      data(1, '', endStream),
    ],
    [
      'trailers before what Content-Length says',
      protocolError,
      postFrame(1, rawField('content-length', '3')),
      data(1, 'ab'),
      rawHeaders(1, endStream, rawField('x', 'y')),
    ],
    ['trailers that do not end the request', protocolError, postFrame(1), rawHeaders(1, 0, rawField('x', 'y'))],
    ['trailers with a pseudo-header', protocolError, postFrame(1), rawHeaders(1, endStream, rawField(':path', '/'))],
    ['trailers with a name in upper case', protocolError, postFrame(1), rawHeaders(1, endStream, rawField('X', 'y'))],
    [
      'trailers with a control character',
      protocolError,
      postFrame(1),
      rawHeaders(1, endStream, rawField('x', 'y\x01')),
    ],
    [
      'DATA beyond the window',
      flowControlError,
      rawHeaders(1, 0, Buffer.concat([rawIndex(3), rawIndex(7), rawField(':path', '/hold')])),
      ...tooMuch,
    ],
  ];
  for (const [what, code, ...frames] of rows) {
    it(what, async () => {
      await using all = await sessions((exchange) => (exchange.target === '/hold' ? hold(exchange) : echo(exchange)));
      const client = (await all.client()).send(...frames);
      const answer = await client.whole(1);
      assert.deepEqual([answer.status, answer.reset], [0, code]);
      client.send(getFrame(3));
      assert.equal((await client.whole(3)).status, 200);
      assert.deepEqual(client.goaways, []);
    });
  }
});

describe('malformed requests: 400 with a reason', () => {
  const path = rawField(':path', '/');
  const rows: readonly (readonly [what: string, message: RegExp, ...fields: readonly Buffer[]])[] = [
    ['no method', /:method is missing/, rawIndex(7), path],
    ['no scheme', /:scheme is missing/, rawIndex(2), path],
    ['no path', /:path is missing/, rawIndex(2), rawIndex(7)],
    ['an empty path', /:path is not/, rawIndex(2), rawIndex(7), rawField(':path', '')],
    ['a path with a blank in front', /value of header field :path/, rawIndex(2), rawIndex(7), rawField(':path', ' /')],
    ['a method with a blank behind', /value of header field :method/, rawField(':method', 'GET '), rawIndex(7), path],
    ['an authority with a tab', /value of header field :authority/, get, rawField(':authority', '\ta')],
    ['a path with a blank', /:path is not/, rawIndex(2), rawIndex(7), rawField(':path', '/a b')],
    ['a path with a letter beyond ASCII', /:path is not/, rawIndex(2), rawIndex(7), rawField(':path', '/\xe4')],
    ['a path with a line feed', /:path/, rawIndex(2), rawIndex(7), rawField(':path', '/a\nb')],
    ['a method that is none', /:method is not/, rawField(':method', 'GE T'), rawIndex(7), path],
    ['an empty method', /:method is not/, rawField(':method', ''), rawIndex(7), path],
    ['two methods', /:method was sent twice/, rawIndex(2), get],
    ['two paths', /:path was sent twice/, get, rawIndex(4)],
    ['two schemes', /:scheme was sent twice/, get, rawIndex(6)],
    ['two authorities', /:authority was sent twice/, get, rawField(':authority', 'a'), rawField(':authority', 'a')],
    ['a pseudo-header of responses', /":status"/, get, rawIndex(8)],
    ['an unknown pseudo-header', /":protocol"/, get, rawField(':protocol', 'websocket')],
    [
      'a pseudo-header behind a header',
      /:authority must stand before/,
      get,
      rawField('x', 'y'),
      rawField(':authority', 'a'),
    ],
    [
      'CONNECT with a path',
      /CONNECT has no/,
      rawField(':method', 'CONNECT'),
      rawIndex(7),
      path,
      rawField(':authority', 'a'),
    ],
    ['CONNECT of nothing', /:authority is missing/, rawField(':method', 'CONNECT')],
    ['an authority and another host', /differ/, get, rawField(':authority', 'a'), rawField('host', 'b')],
    ['two hosts', /host was sent twice/, get, rawField('host', 'a'), rawField('host', 'a')],
    ['an authority that is no host', /:authority is not/, get, rawField(':authority', 'a b')],
    ['a host that is none', /host is not/, get, rawField('host', 'a/b')],
    [
      'two credentials',
      /authorization was sent twice/,
      get,
      rawField('authorization', 'Bearer a'),
      rawField('authorization', 'Bearer a'),
    ],
    [
      'two lengths',
      /content-length was sent twice/,
      get,
      rawField('content-length', '0'),
      rawField('content-length', '0'),
    ],
    ['a length that is no number', /content-length is not/, get, rawField('content-length', '+1')],
    ['a length beyond all numbers', /content-length is not/, get, rawField('content-length', '9'.repeat(30))],
    ['a length, and nothing behind', /content-length was sent without/, get, rawField('content-length', '1')],
    ['connection', /connection is not allowed/, get, rawField('connection', 'close')],
    ['proxy-connection', /proxy-connection/, get, rawField('proxy-connection', 'x')],
    ['keep-alive', /keep-alive/, get, rawField('keep-alive', 'x')],
    ['transfer-encoding', /transfer-encoding/, get, rawField('transfer-encoding', 'chunked')],
    ['upgrade', /upgrade/, get, rawField('upgrade', 'websocket')],
    ['te of something', /te may only/, get, rawField('te', 'trailers, gzip')],
    ['a name in upper case', /name "X-Up" is not/, get, rawField('X-Up', 'y')],
    ['an empty name', /name "" is not/, get, rawField('', 'y')],
    ['a name with a blank', /name "a b" is not/, get, rawField('a b', 'y')],
    ['a name with a colon', /name "a:b" is not/, get, rawField('a:b', 'y')],
    ['a name beyond ASCII', /name "\u00e4" is not/, get, rawField('\xe4', 'y')],
    ['a value with NUL', /value of header field x holds/, get, rawField('x', 'a\0b')],
    ['a value with a carriage return', /value of header field x holds/, get, rawField('x', 'a\rb')],
    ['a value with a line feed', /value of header field x holds/, get, rawField('x', 'a\nb')],
    ['a value with a control character', /value of header field x holds/, get, rawField('x', 'a\x1fb')],
    ['a value with DEL', /value of header field x holds/, get, rawField('x', 'a\x7fb')],
  ];
  for (const [what, message, ...fields] of rows) {
    it(what, async () => {
      await using all = await sessions((exchange) => {
        assert.equal(exchange.target, '/good');
        exchange.respond(200, {});
      });
      const client = (await all.client()).send(rawHeaders(1, endStream, Buffer.concat(fields)));
      const answer = await client.whole(1);
      const status = JSON.parse(answer.body.toString()) as { kind: string; reason: string; message: string };
      assert.deepEqual([answer.status, status.kind, status.reason], [400, 'Status', 'BadRequest']);
      assert.match(status.message, message);
      client.send(pathFrame(3, '/good'));
      assert.equal((await client.whole(3)).status, 200);
      assert.equal(client.answer(1).reset, errorCode.protocolError, 'the stream counts as one that broke the protocol');
    });
  }

  it('also before its body, and the stream then ends without an error', async () => {
    const clock = new ManualClock();
    await using all = await sessions(() => assert.fail('must not be handled'), { clock });
    const client = (await all.client()).send(postFrame(1, rawField('Bad', 'x')), data(1, 'abc'));
    assert.equal((await client.whole(1)).status, 400);
    clock.advance(limits.lingerMs);
    await client.until(() => client.answer(1).reset === errorCode.noError);
  });
});

describe('a request that is served', () => {
  const seen = (exchange: Exchange): void => {
    const names = exchange.headerNames().map((name) => [name, ...exchange.headerLines(name)]);
    exchange.respond(
      200,
      {},
      JSON.stringify([exchange.method, exchange.target, exchange.header('host') ?? '', ...names]),
    );
  };
  const rows: readonly (readonly [what: string, expected: unknown, ...frames: readonly Buffer[]])[] = [
    ['with an authority', ['GET', '/', 'a'], getFrame(1, rawField(':authority', 'a'))],
    ['with a host', ['GET', '/', 'a', ['host', 'a']], getFrame(1, rawField('host', 'a'))],
    ['with both', ['GET', '/', 'A', ['host', 'A']], getFrame(1, rawField(':authority', 'a'), rawField('host', 'A'))],
    ['with neither', ['GET', '/', ''], getFrame(1)],
    ['with te: trailers', ['GET', '/', '', ['te', 'trailers']], getFrame(1, rawField('te', 'trailers'))],
    [
      'in several frames',
      ['GET', '/', '', ['x', 'y']],
      rawHeaders(1, endStream, Buffer.concat([get, rawField('x', 'y')]), 2),
    ],
    [
      'with padding and priority',
      ['GET', '/', ''],
      rawFrame(
        frameType.headers,
        0x2d,
        1,
        Buffer.concat([Buffer.from([3]), uint32(0), Buffer.from([7]), get, Buffer.alloc(3)]),
      ),
    ],
    [
      'with the same field in all forms',
      ['GET', '/', '', ['x', 'y', 'y', 'y', 'y', 'y']],
      getFrame(
        1,
        rawField('x', 'y', { form: 'neverIndexed' }),
        rawField('x', 'y', { huffman: true }),
        rawField('x', 'y', { form: 'indexed', huffman: true }),
        rawField('x', 'y', { nameIndex: 62 }),
        rawIndex(62),
      ),
    ],
    [
      'with blanks and tabs around values',
      ['GET', '/', '', ['x', 'y z', '', '\xa0']],
      getFrame(1, rawField('x', ' \ty z\t '), rawField('x', '\t '), rawField('x', ' \xa0 ')),
    ],
    ['after an unknown frame', ['GET', '/', ''], rawFrame(0x42, 0xff, 1, Buffer.alloc(20)), getFrame(1)],
    [
      'after PRIORITY of a stream to come',
      ['GET', '/', ''],
      rawFrame(frameType.priority, 0, 7, Buffer.alloc(5)),
      getFrame(1),
    ],
    ['with an absolute target', ['GET', '/x?y', ''], pathFrame(1, 'https://other/x?y')],
  ];
  for (const [what, expected, ...frames] of rows) {
    it(what, async () => {
      await using all = await sessions(seen);
      const answer = await (await all.client()).send(...frames).whole(1);
      assert.equal(answer.status, 200);
      assert.deepEqual(JSON.parse(answer.body.toString()), expected);
    });
  }

  it('with as many fields as the size limit allows', async () => {
    await using all = await sessions((exchange) =>
      exchange.respond(200, {}, String(exchange.headerLines('impersonate-group').length)),
    );
    const client = await all.client();
    const groups = (count: number): Buffer[] =>
      Array.from({ length: count }, (_, n) => rawField('impersonate-group', `g${n}`.padEnd(5)));
    const room = Math.floor((limits.headerBytesMax - 3 * 50) / (17 + 5 + 32));
    client.send(rawHeaders(1, endStream, Buffer.concat([get, ...groups(room)])));
    assert.equal((await client.whole(1)).body.toString(), String(room));
    client.send(rawHeaders(3, endStream, Buffer.concat([get, ...groups(room + 5)])));
    const refused = await client.whole(3);
    assert.equal(refused.status, 431);
    assert.match(refused.body.toString(), /too large/);
    // Refused blocks are decoded too, which keeps the HPACK table in sync.
    const large = rawField('x', 'y'.repeat(limits.headerBytesMax));
    client.send(
      rawHeaders(5, endStream, Buffer.concat([get, large, rawField('impersonate-group', 'z', { form: 'indexed' })])),
    );
    assert.equal((await client.whole(5)).status, 431);
    client.send(getFrame(7, rawIndex(62)));
    assert.equal((await client.whole(7)).body.toString(), '1');
  });

  it('with indexed fields, which count in full size', async () => {
    await using all = await sessions((exchange) => exchange.respond(200, {}));
    const client = await all.client();
    client.send(getFrame(1, rawField('x', 'y'.repeat(4_000), { form: 'indexed' })));
    assert.equal((await client.whole(1)).status, 200);
    client.send(getFrame(3, ...Array.from({ length: 10_000 }, () => rawIndex(62))));
    assert.equal((await client.whole(3)).status, 431);
    client.send(getFrame(5, rawIndex(62)));
    assert.equal((await client.whole(5)).status, 200);
  });
});
