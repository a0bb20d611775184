import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import type { BodyWriter, Exchange } from '../exchange.ts';
import { defaultWindow, errorCode, frameFlag, frameType, windowMax } from './frames.ts';
import type { RawClient } from './raw-client-fixture.ts';
import { rawField, rawFrame, rawHeaders, rawSettings, uint32 } from './raw-frames-fixture.ts';
import { endStream, getFrame, pathFrame, post, postFrame, sessions } from './session-fixture.ts';

const initialWindow = 4;
const widen = (stream: number, increment: number): Buffer =>
  rawFrame(frameType.windowUpdate, 0, stream, uint32(increment));
const setWindow = (bytes: number): Buffer => rawFrame(frameType.settings, 0, 0, rawSettings([initialWindow, bytes]));
const cancel = (stream: number): Buffer => rawFrame(frameType.reset, 0, stream, uint32(errorCode.cancel));
const dataFrame = (stream: number, payload: Buffer, flags = 0): Buffer =>
  rawFrame(frameType.data, flags, stream, payload);

/** Responds with as many bytes as the path says. */
const bytesOf = (exchange: Exchange): void =>
  exchange.respond(200, {}, Buffer.alloc(Number(exchange.target.slice(1)), 'abcdefg'));

/** Bytes received once all that may arrive has arrived. */
async function receivedBytes(client: RawClient, stream: number, bytes: number): Promise<number> {
  await client.until(() => client.received(stream).bytes >= bytes);
  await client.pinged();
  return client.received(stream).bytes;
}

describe('sending', () => {
  it('respects the stream window, the connection window and the frame size', async () => {
    await using all = await sessions(bytesOf);
    const client = await all.client([initialWindow, 10]);
    client.send(pathFrame(1, '/100'), pathFrame(3, '/5'));
    assert.equal(await receivedBytes(client, 1, 10), 10);
    assert.equal((await client.whole(3)).body.toString(), 'abcde');
    client.send(widen(1, 1));
    assert.equal(await receivedBytes(client, 1, 11), 11);
    client.send(widen(1, 89));
    assert.equal((await client.whole(1)).body.length, 100);

    const wide = await all.client([initialWindow, windowMax]);
    wide.send(pathFrame(1, '/200000'));
    assert.equal(await receivedBytes(wide, 1, defaultWindow), defaultWindow);
    assert.equal(wide.received(1).frames, 4, '16,384 bytes each');
    wide.send(pathFrame(3, '/0'));
    assert.equal((await wide.whole(3)).ended, true, 'what needs no window is not held up');
    wide.send(widen(0, 200_000));
    const { body } = await wide.whole(1);
    assert.ok(body.equals(Buffer.alloc(200_000, 'abcdefg')));
  });

  it('respects changed settings, also on open streams', async () => {
    await using all = await sessions(bytesOf);
    const client = await all.client([initialWindow, 0]);
    client.send(pathFrame(1, '/100'));
    await client.until(() => client.answer(1).status === 200);
    client.send(setWindow(30));
    assert.equal(await receivedBytes(client, 1, 30), 30);
    client.send(setWindow(10), widen(1, 15));
    await client.pinged();
    assert.equal(client.received(1).bytes, 30, 'the window is below zero');
    client.send(widen(1, 10));
    assert.equal(await receivedBytes(client, 1, 35), 35);
    client.send(setWindow(1_000));
    assert.equal((await client.whole(1)).body.length, 100);
    assert.equal(client.settingsAcknowledged, 4);
  });

  it('uses longer frames if the client accepts them', async () => {
    await using all = await sessions(bytesOf);
    const client = await all.client([initialWindow, windowMax], [5, 50_000]);
    client.send(pathFrame(1, '/60000'));
    assert.equal((await client.whole(1)).body.length, 60_000);
    assert.equal(client.received(1).frames, 2);
  });

  it('continues for other streams when one is blocked', async () => {
    await using all = await sessions(bytesOf);
    const client = await all.client([initialWindow, 100]);
    const many = Array.from({ length: 20 }, (_, n) => 2 * n + 1);
    client.send(...many.map((stream) => pathFrame(stream, '/1000')));
    for (const stream of many) assert.equal(await receivedBytes(client, stream, 100), 100);
    client.send(widen(7, 900));
    assert.equal((await client.whole(7)).body.length, 1_000);
    client.send(...many.filter((stream) => stream !== 7).map((stream) => widen(stream, 900)));
    for (const stream of many) assert.equal((await client.whole(stream)).body.length, 1_000);
  });

  it('is fair between streams', async () => {
    await using all = await sessions(bytesOf);
    const client = await all.client([initialWindow, windowMax]);
    client.send(...[1, 3, 5].map((stream) => pathFrame(stream, '/100000')));
    await client.until(
      () => client.received(1).bytes + client.received(3).bytes + client.received(5).bytes === defaultWindow,
    );
    for (const stream of [1, 3, 5]) assert.ok(client.received(stream).bytes >= 16_000);
    client.send(widen(0, 300_000));
    for (const stream of [1, 3, 5]) assert.equal((await client.whole(stream)).body.length, 100_000);
  });

  it('stops with the stream, and frees its share of the connection', async () => {
    const ended: [string, boolean][] = [];
    await using all = await sessions((exchange) => {
      exchange.onEnd(() => ended.push([exchange.target, exchange.signal.aborted]));
      bytesOf(exchange);
    });
    const client = await all.client([initialWindow, windowMax]);
    client.send(pathFrame(1, '/100000'));
    await receivedBytes(client, 1, defaultWindow);
    client.send(pathFrame(3, '/10'), cancel(1), widen(0, 10));
    assert.equal((await client.whole(3)).body.length, 10);
    assert.deepEqual(ended, [
      ['/100000', true],
      ['/10', false],
    ]);
  });

  it('buffers in the writer, which reports it', async () => {
    const writers: BodyWriter[] = [];
    await using all = await sessions((exchange) => void writers.push(exchange.stream(200, {})));
    const client = await all.client([initialWindow, 10]);
    client.send(getFrame(1));
    await until(() => writers.length === 1);
    const [writer] = writers;
    assert.ok(writer);
    let sent = 0;
    const done = (): void => {
      sent += 1;
    };
    assert.equal(writer.write('0123456', done), true);
    assert.equal(writer.write('789abc', done), true);
    await receivedBytes(client, 1, 10);
    assert.deepEqual([writer.buffered, sent], [3, 1]);
    assert.equal(writer.write(Buffer.alloc(limits.responseBufferBytes), done), false);
    const drained = writer.drained();
    client.send(widen(1, 3));
    await receivedBytes(client, 1, 13);
    assert.deepEqual([writer.buffered, sent], [limits.responseBufferBytes, 2]);
    client.send(widen(1, limits.responseBufferBytes), widen(0, 100));
    await drained;
    assert.deepEqual([writer.buffered, sent], [0, 3]);
    writer.end('z');
    await client.pinged();
    assert.equal(client.answer(1).ended, false);
    client.send(widen(1, 1));
    assert.equal((await client.whole(1)).body.length, 13 + limits.responseBufferBytes + 1);
  });

  it('ends the stream if nothing is left to send', async () => {
    const writers: BodyWriter[] = [];
    await using all = await sessions((exchange) => void writers.push(exchange.stream(200, {})));
    const client = (await all.client([initialWindow, 3])).send(getFrame(1));
    await until(() => writers.length === 1);
    writers[0]?.write('abc');
    await receivedBytes(client, 1, 3);
    writers[0]?.end();
    assert.equal((await client.whole(1)).body.toString(), 'abc', 'no window is needed for that');
  });

  it('is cut off so that the client sees it', async () => {
    const writers: BodyWriter[] = [];
    await using all = await sessions((exchange) => void writers.push(exchange.stream(200, {})));
    const client = (await all.client()).send(getFrame(1));
    await until(() => writers.length === 1);
    writers[0]?.write('abc');
    await receivedBytes(client, 1, 3);
    writers[0]?.abort();
    const { ended, reset } = await client.whole(1);
    assert.deepEqual([ended, reset], [false, errorCode.internalError]);
  });

  it('splits long headers into several frames', async () => {
    const long = 'x'.repeat(50_000);
    await using all = await sessions((exchange) => exchange.respond(200, { 'x-long': long, 'x-last': 'z' }, 'body'));
    const client = (await all.client()).send(getFrame(1));
    const { headers, body } = await client.whole(1);
    assert.deepEqual([headers['x-long'], headers['x-last'], body.toString()], [long, 'z', 'body']);
  });

  it('omits the length if there is no body, and the content for HEAD', async () => {
    await using all = await sessions((exchange) => {
      if (exchange.target === '/stream') exchange.stream(200, {}).end('never sent');
      else exchange.respond(Number(exchange.target.slice(1)), {}, 'content');
    });
    const client = await all.client();
    const head = (stream: number, path: string): Buffer =>
      rawHeaders(
        stream,
        endStream,
        Buffer.concat([rawField(':method', 'HEAD'), rawField(':scheme', 'https'), rawField(':path', path)]),
      );
    client.send(head(1, '/200'), head(3, '/stream'), pathFrame(5, '/204'), pathFrame(7, '/304'), pathFrame(9, '/200'));
    const expected: readonly (readonly [stream: number, status: number, length: string | undefined, body: string])[] = [
      [1, 200, '7', ''],
      [3, 200, undefined, ''],
      [5, 204, undefined, ''],
      [7, 304, undefined, ''],
      [9, 200, '7', 'content'],
    ];
    for (const [stream, status, length, body] of expected) {
      const answer = await client.whole(stream);
      assert.deepEqual(
        [answer.status, answer.headers['content-length'], answer.body.toString()],
        [status, length, body],
      );
      assert.ok(answer.headers['date']?.endsWith(' GMT'));
    }
  });

  it('allows another response after an invalid header', async () => {
    await using all = await sessions((exchange) => {
      assert.throws(() => exchange.respond(200, { 'x-bad': 'a\nb' }), TypeError);
      assert.throws(() => exchange.stream(200, { 'x-bad': 'a\nb' }), TypeError);
      exchange.respond(500, {}, 'sorry');
    });
    const client = (await all.client()).send(getFrame(1));
    assert.equal((await client.whole(1)).status, 500);
  });
});

describe('receiving', () => {
  /** Reads all bodies, and responds with their lengths. */
  const lengths = (exchange: Exchange): void => {
    exchange.body(10_000_000).then(
      (body) => exchange.respond(200, {}, String(body.length)),
      () => {},
    );
  };
  const frames = (stream: number, bytes: number): Buffer[] =>
    Array.from({ length: Math.ceil(bytes / 16_000) }, (_, n) =>
      dataFrame(stream, Buffer.alloc(Math.min(16_000, bytes - n * 16_000))),
    );

  it('continues when the body is read', async () => {
    await using all = await sessions(lengths);
    const client = await all.client();
    await client.until(() => client.widened.get(0) !== undefined);
    assert.equal(client.widened.get(0), limits.connectionWindowBytes - defaultWindow);
    client.send(postFrame(1));
    let sent = 0;
    const allowed = (): number => limits.streamWindowBytes + (client.widened.get(1) ?? 0) - sent;
    while (sent < 2_000_000) {
      await client.until(() => allowed() >= 16_000);
      client.send(...frames(1, 16_000));
      sent += 16_000;
    }
    client.send(dataFrame(1, Buffer.alloc(0), endStream));
    assert.equal((await client.whole(1)).body.toString(), '2000000');
    assert.ok((client.widened.get(0) ?? 0) >= 1_000_000);
  });

  it('is blocked while a body is not read, without blocking other streams', async () => {
    const held: Exchange[] = [];
    await using all = await sessions((exchange) => {
      if (exchange.header('x-hold') === undefined) lengths(exchange);
      else held.push(exchange);
    });
    const client = await all.client();
    client.send(postFrame(1, rawField('x-hold', '')), ...frames(1, limits.streamWindowBytes));
    await client.pinged();
    assert.equal(client.widened.get(1), undefined);
    for (const stream of [3, 5, 7, 9]) {
      client.send(
        postFrame(stream),
        ...frames(stream, limits.streamWindowBytes),
        dataFrame(stream, Buffer.alloc(0), endStream),
      );
      assert.equal((await client.whole(stream)).body.toString(), String(limits.streamWindowBytes));
    }
    const [exchange] = held;
    assert.ok(exchange);
    lengths(exchange);
    await client.until(() => client.widened.get(1) === limits.streamWindowBytes);
    client.send(dataFrame(1, Buffer.from('end'), endStream));
    assert.equal((await client.whole(1)).body.toString(), String(limits.streamWindowBytes + 3));
  });

  it('preserves bodies with padding, in any parts, up to trailers', async () => {
    await using all = await sessions(
      (exchange) => void exchange.body(1_000).then((body) => exchange.respond(200, {}, body)),
    );
    const client = await all.client();
    const padded = Buffer.concat([Buffer.from([4]), Buffer.from('cd'), Buffer.alloc(4)]);
    client.send(
      postFrame(1, rawField('content-length', '6')),
      dataFrame(1, Buffer.from('ab')),
      dataFrame(1, padded, frameFlag.padded),
      dataFrame(1, Buffer.alloc(0)),
      dataFrame(1, Buffer.from('ef')),
      rawHeaders(1, endStream, rawField('x-trailer', 'dropped')),
    );
    assert.equal((await client.whole(1)).body.toString(), 'abcdef');
  });

  it('byte by byte takes little more memory than the bytes', async () => {
    await using all = await sessions(lengths);
    const client = await all.client();
    client.send(postFrame(1));
    const one = Buffer.concat(Array.from({ length: 10_000 }, () => dataFrame(1, Buffer.from('x'))));
    const before = process.memoryUsage();
    for (let n = 0; n < 20; n += 1) client.send(one);
    await client.pinged();
    const after = process.memoryUsage();
    const more = after.heapUsed + after.external - before.heapUsed - before.external;
    assert.ok(more < 64 * 1024 * 1024, `${more} bytes for 200,000`);
    client.send(dataFrame(1, Buffer.alloc(0), endStream));
    assert.equal((await client.whole(1)).body.toString(), '200000');
  });

  it('sends 100 Continue once, when the body is read', async () => {
    await using all = await sessions(lengths);
    const client = (await all.client()).send(postFrame(1, rawField('expect', '100-continue')));
    await client.until(() => client.answer(1).informed.length > 0);
    client.send(dataFrame(1, Buffer.from('abc'), endStream));
    const { informed, body } = await client.whole(1);
    assert.deepEqual([informed, body.toString()], [[100], '3']);
  });

  it('drops the body after the response, and stops the client with NO_ERROR', async () => {
    const clock = new ManualClock();
    await using all = await sessions((exchange) => exchange.respond(403, {}, 'no'), { clock });
    const client = await all.client();
    for (const stream of [1, 3, 5]) {
      client.send(postFrame(stream));
      const { status, body, ended } = await client.whole(stream);
      assert.deepEqual([status, body.toString(), ended], [403, 'no', true]);
      clock.advance(limits.lingerMs - 1);
      await client.pinged();
      assert.equal(client.answer(stream).reset, undefined, 'some take a reset beside the response for a failure');
      clock.advance(1);
      await client.until(() => client.answer(stream).reset === errorCode.noError);
      // The client did not know yet.
      client.send(...frames(stream, 200_000), rawHeaders(stream, endStream, rawField('x', 'y', { form: 'indexed' })));
    }
    client.send(getFrame(7, Buffer.from([0x80 | 62])));
    assert.equal((await client.whole(7)).status, 403, 'the fields of trailers are in the table');
    assert.ok(
      (client.widened.get(0) ?? 0) > limits.connectionWindowBytes - defaultWindow,
      'the connection has room again',
    );
    assert.deepEqual(client.goaways, []);
  });

  it('refuses a body past its limit, before its end', async () => {
    const clock = new ManualClock();
    const refuse = (exchange: Exchange) =>
      void exchange.body(1_000).catch((error: { code: number }) => exchange.respond(error.code, {}));
    await using all = await sessions(refuse, { clock });
    const client = await all.client();
    client.send(rawHeaders(1, 0, post), ...frames(1, 32_000));
    assert.equal((await client.whole(1)).status, 413);
    clock.advance(limits.lingerMs);
    await client.until(() => client.answer(1).reset === errorCode.noError);
    assert.equal(client.widened.get(1), undefined);
  });

  it('needs no reset if the client ends after the response', async () => {
    const clock = new ManualClock();
    await using all = await sessions((exchange) => exchange.respond(403, {}, 'no'), { clock });
    const client = await all.client();
    const before = clock.pending;
    client.send(postFrame(1));
    assert.equal((await client.whole(1)).status, 403);
    client.send(...frames(1, 50_000), dataFrame(1, Buffer.alloc(0), endStream));
    await client.pinged();
    clock.advance(limits.lingerMs);
    await client.pinged();
    assert.deepEqual([client.answer(1).reset, clock.pending], [undefined, before]);
  });
});
