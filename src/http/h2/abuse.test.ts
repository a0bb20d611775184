import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import type { Exchange } from '../exchange.ts';
import { errorCode, frameFlag, frameType } from './frames.ts';
import type { RawClient } from './raw-client-fixture.ts';
import { rawField, rawFrame, rawHeaders, rawIndex, rawSettings, uint32 } from './raw-frames-fixture.ts';
import { endStream, get, getFrame, pathFrame, postFrame, type Sessions, sessions } from './session-fixture.ts';

/** What a client can do to a connection, and at what cost. The clock stands still: budgets are never replenished. */

const none: Buffer = Buffer.alloc(0);
const resetsMax = 20;
const few = { streamResetsPerSecondMax: resetsMax, streamsPerConnectionMax: 10 };

const ok = (exchange: Exchange): void => exchange.respond(200, {}, 'ok');
const hold = (exchange: Exchange): void => exchange.onEnd(() => {});
const holding = (exchange: Exchange): void => (exchange.target === '/hold' ? hold(exchange) : ok(exchange));

const standing = (handle: (exchange: Exchange) => void): Promise<Sessions> =>
  sessions(handle, { clock: new ManualClock(), limits: few });

const widen = (stream: number, increment: number): Buffer =>
  rawFrame(frameType.windowUpdate, 0, stream, uint32(increment));
const cancel = (stream: number): Buffer => rawFrame(frameType.reset, 0, stream, uint32(errorCode.cancel));
const data = (stream: number, bytes: number, flags = 0): Buffer =>
  rawFrame(frameType.data, flags, stream, Buffer.alloc(bytes));
/** A request that the server holds, with a body of one byte announced. */
const hold1 = (stream: number): Buffer =>
  rawHeaders(
    stream,
    0,
    Buffer.concat([rawIndex(3), rawIndex(7), rawField(':path', '/hold'), rawField('content-length', '1')]),
  );
const ping = rawFrame(frameType.ping, 0, 0, Buffer.alloc(8));

/** Sends rounds until the connection ends, and returns how many it took. */
async function roundsTaken(
  client: RawClient,
  round: (stream: number) => readonly Buffer[],
  max: number,
): Promise<number> {
  for (let n = 0; n < max; n += 1) {
    client.send(...round(2 * n + 1));
    await Promise.race([client.pinged(), client.end()]).catch(() => {});
    if (client.closed) return n + 1;
  }
  return max;
}

describe('too many resets by either side end the connection (CVE-2023-44487, CVE-2025-8671)', () => {
  const rows: readonly (readonly [what: string, round: (stream: number) => readonly Buffer[]])[] = [
    ['requests that are taken back', (stream) => [pathFrame(stream, '/hold'), cancel(stream)]],
    ['requests that are taken back when they were answered', (stream) => [getFrame(stream), cancel(stream)]],
    ['window updates of nothing', (stream) => [pathFrame(stream, '/hold'), widen(stream, 0)]],
    ['window updates beyond all windows', (stream) => [pathFrame(stream, '/hold'), widen(stream, 0x7fffffff)]],
    ['DATA behind the end', (stream) => [pathFrame(stream, '/hold'), data(stream, 1)]],
    ['more DATA than was said', (stream) => [hold1(stream), data(stream, 2)]],
    ['malformed requests', (stream) => [getFrame(stream, rawField('X', ''))]],
    [
      'malformed trailers',
      (stream) => [
        rawHeaders(stream, 0, Buffer.concat([get, rawField('x-hold', '')])),
        rawHeaders(stream, endStream, rawField('X', '')),
      ],
    ],
  ];
  for (const [what, round] of rows) {
    it(what, async () => {
      await using all = await standing((exchange) =>
        exchange.header('x-hold') === undefined ? holding(exchange) : hold(exchange),
      );
      const client = await all.client();
      assert.equal(await roundsTaken(client, round, 3 * resetsMax), resetsMax + 1);
      assert.equal((await client.end())?.code, errorCode.enhanceYourCalm);
    });
  }

  it('more streams than allowed', async () => {
    let handled = 0;
    await using all = await standing((exchange) => {
      handled += 1;
      hold(exchange);
    });
    const client = await all.client();
    await client.pinged();
    assert.equal(
      await roundsTaken(client, (stream) => [getFrame(stream)], 5 * resetsMax),
      few.streamsPerConnectionMax + resetsMax + 1,
    );
    assert.equal(handled, few.streamsPerConnectionMax);
    assert.equal(client.answer(2 * few.streamsPerConnectionMax + 1).reset, errorCode.refusedStream);
  });

  it('not a client that does not know the limit yet', async () => {
    await using all = await standing(hold);
    const client = await all.client();
    client.polite = false;
    client.send(...Array.from({ length: 4 * resetsMax }, (_, n) => getFrame(2 * n + 1)));
    assert.equal((await client.whole(2 * few.streamsPerConnectionMax + 1)).reset, errorCode.refusedStream);
    await client.pinged();
    assert.deepEqual(client.goaways, []);
  });

  it('not a client that resets now and then', async () => {
    const clock = new ManualClock();
    await using all = await sessions(hold, { clock, limits: few });
    const client = await all.client();
    for (let n = 0; n < 3 * resetsMax; n += 1) {
      client.send(getFrame(2 * n + 1), cancel(2 * n + 1));
      await client.pinged();
      clock.advance(1_000 / resetsMax);
    }
    assert.deepEqual(client.goaways, []);
  });
});

describe('too many control frames end the connection', () => {
  const perSecond = limits.controlFramesPerSecondMax;
  const rows: readonly (readonly [what: string, frame: Buffer])[] = [
    ['PING', ping],
    ['acknowledged PING', rawFrame(frameType.ping, frameFlag.ack, 0, Buffer.alloc(8))],
    ['SETTINGS', rawFrame(frameType.settings, 0, 0)],
    ['SETTINGS that change windows', rawFrame(frameType.settings, 0, 0, rawSettings([4, 1_000]))],
    ['acknowledged SETTINGS', rawFrame(frameType.settings, frameFlag.ack, 0)],
    ['PRIORITY', rawFrame(frameType.priority, 0, 3, Buffer.alloc(5))],
    ['GOAWAY', rawFrame(frameType.goaway, 0, 0, Buffer.alloc(8))],
    ['empty DATA', data(1, 0)],
    ['empty DATA that is padded', rawFrame(frameType.data, frameFlag.padded, 1, Buffer.alloc(200, 199))],
    ['DATA of a stream that was reset', data(3, 0)],
    ['window updates without DATA', widen(1, 1)],
    ['window updates of the connection', widen(0, 1)],
    ['unknown frames', rawFrame(0x42, 0, 0)],
  ];
  for (const [what, frame] of rows) {
    it(what, async () => {
      await using all = await standing((exchange) =>
        exchange.target === '/' && exchange.method === 'POST' ? hold(exchange) : ok(exchange),
      );
      const client = await all.client();
      client.send(rawHeaders(3, 0, Buffer.concat([get])), postFrame(5));
      client.polite = false;
      client.send(
        ...Array.from({ length: perSecond - 20 }, () =>
          what.includes('that was reset') ? frame : withStream(frame, 5),
        ),
      );
      if (what !== 'SETTINGS that change windows') await client.pinged();
      assert.deepEqual(client.goaways, [], 'as many as are allowed');
      client.send(
        ...Array.from({ length: 40 }, () => (what.includes('that was reset') ? frame : withStream(frame, 5))),
      );
      assert.equal((await client.end())?.code, errorCode.enhanceYourCalm);
    });
  }

  /** The same frame for the open stream, if it is a frame of a stream. */
  function withStream(frame: Buffer, stream: number): Buffer {
    if (frame.readUInt32BE(5) !== 1) return frame;
    const copy = Buffer.from(frame);
    copy.writeUInt32BE(stream, 5);
    return copy;
  }

  it('not window updates that answer DATA', async () => {
    await using all = await standing((exchange) => exchange.respond(200, {}, Buffer.alloc(40_000_000)));
    const client = await all.client([4, 16_384]);
    client.send(getFrame(1));
    let answered = 0;
    while (answered < 2_000) {
      await client.until(() => client.received(1).frames > answered);
      const frames = client.received(1).frames - answered;
      answered += frames;
      for (let n = 0; n < frames; n += 1) client.send(widen(0, 16_384), widen(1, 16_384));
    }
    assert.deepEqual(client.goaways, []);
  });
});

describe('a client that does not read', () => {
  it('is not read from, and buffers a bounded number of bytes', async () => {
    let handled = 0;
    await using all = await sessions((exchange) => {
      handled += 1;
      exchange.respond(200, { 'x-long': 'y'.repeat(1_000) });
    });
    const client = await all.client();
    await client.pinged();
    client.socket.pause();
    const requests = Buffer.concat(Array.from({ length: 500 }, () => getFrame(1)));
    let stream = 3;
    let seen = -1;
    // Until the server handles no more requests, however many are sent.
    while (handled !== seen) {
      seen = handled;
      for (let round = 0; round < 20; round += 1) {
        const batch = Buffer.from(requests);
        for (let at = 0; at < batch.length; at += 12) {
          batch.writeUInt32BE(stream, at + 5);
          stream += 2;
        }
        client.socket.write(batch);
        for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      }
    }
    const sent = (stream - 3) / 2;
    assert.ok(handled < sent, `${handled} of ${sent} were handled`);
    client.socket.resume();
    await client.until(() => client.answer(stream - 2).ended);
    assert.equal(handled, sent);
  });
});

test('many simultaneous requests are read in slices, so that others are served', async () => {
  const times: number[] = [];
  const clock = new ManualClock();
  let turn = 0;
  await using all = await sessions(
    (exchange) => {
      times.push(turn);
      clock.advance(limits.readSliceMs / 2);
      ok(exchange);
    },
    { clock },
  );
  const client = await all.client();
  await client.pinged();
  const counter = setInterval(() => {}, 1_000);
  const count = (): void => {
    turn += 1;
    if (times.length < 40) setImmediate(count);
  };
  setImmediate(count);
  client.send(...Array.from({ length: 40 }, (_, n) => getFrame(2 * n + 1)));
  for (let n = 0; n < 40; n += 1) assert.equal((await client.whole(2 * n + 1)).status, 200);
  clearInterval(counter);
  assert.ok(new Set(times).size >= 10, `${new Set(times).size} turns`);
});

test('the first requests of many connections are not all read in one turn', async () => {
  const clock = new ManualClock();
  const count = 60;
  const readByTurn = new Map<number, number>();
  let turn = 0;
  let handled = 0;
  await using all = await sessions(
    (exchange) => {
      handled += 1;
      clock.advance(1);
      readByTurn.set(turn, (readByTurn.get(turn) ?? 0) + 1);
      ok(exchange);
    },
    { clock },
  );
  const clients = await Promise.all(Array.from({ length: count }, () => all.client()));
  for (const client of clients) await client.pinged();
  const next = (): void => {
    turn += 1;
    if (handled < count) setImmediate(next);
  };
  setImmediate(next);
  for (const client of clients) client.send(getFrame(1));
  for (const client of clients) assert.equal((await client.whole(1)).status, 200);
  assert.ok(Math.max(...readByTurn.values()) <= limits.turnMs, `${Math.max(...readByTurn.values())} in one turn`);
});

describe('time', () => {
  const wait = { headersMsMax: 1_000, idleMsMax: 10_000 };

  it('ends a connection whose settings are not acknowledged', async () => {
    const clock = new ManualClock();
    await using all = await sessions(hold, { clock, limits: wait });
    const client = await all.client();
    client.polite = false;
    const other = await all.client();
    for (const each of [client, other]) each.send(getFrame(1));
    await other.pinged();
    await client.pinged();
    for (let n = 0; n < 5; n += 1) {
      assert.deepEqual(client.goaways, []);
      clock.advance(250);
    }
    assert.equal((await client.end())?.code, errorCode.settingsTimeout);
    await other.pinged();
    assert.deepEqual(other.goaways, []);
  });

  it('ends a connection with an incomplete header block, whatever else is on it', async () => {
    const clock = new ManualClock();
    await using all = await sessions(hold, { clock, limits: wait });
    const client = (await all.client()).send(getFrame(1));
    await client.pinged();
    client.send(rawFrame(frameType.headers, endStream, 3, get));
    // Nothing reports that the server has read it: an unknown frame would be an error now.
    await until(() => all.started.listener.connections === 1);
    const ended = client.end();
    await until(() => {
      clock.advance(250);
      return client.closed;
    }, 'the connection stays');
    assert.equal((await ended)?.code, errorCode.enhanceYourCalm);
  });
});

describe('the end of a connection', () => {
  it('is announced twice: requests in flight are served', async () => {
    const clock = new ManualClock();
    const held: Exchange[] = [];
    await using all = await sessions(
      (exchange) => (exchange.target === '/hold' ? void held.push(exchange) : ok(exchange)),
      { clock },
    );
    const client = (await all.client()).send(pathFrame(1, '/hold'));
    await client.pinged();
    client.polite = false;
    all.started.listener.stopAccepting();
    await client.until(() => client.goaways.length === 1 && client.pings.length === 1);
    assert.deepEqual(client.goaways, [{ lastStream: 0x7fffffff, code: errorCode.noError }]);
    client.send(getFrame(3));
    assert.equal((await client.whole(3)).status, 200);
    client.send(rawFrame(frameType.ping, frameFlag.ack, 0, Buffer.from(client.pings[0] ?? '', 'latin1')));
    await client.until(() => client.goaways.length === 2);
    assert.deepEqual(client.goaways[1], { lastStream: 3, code: errorCode.noError });
    client.send(getFrame(5));
    assert.equal((await client.whole(5)).reset, errorCode.refusedStream);
    assert.equal(client.closed, false);
    held[0]?.respond(200, {}, 'finished');
    assert.equal((await client.whole(1)).body.toString(), 'finished');
    await client.end();
  });

  it('follows after a while if the client does not respond', async () => {
    const clock = new ManualClock();
    await using all = await sessions(ok, { clock });
    const client = await all.client();
    await client.pinged();
    client.polite = false;
    all.started.listener.stopAccepting();
    await client.until(() => client.goaways.length === 1);
    clock.advance(limits.goawayMs);
    await client.end();
    assert.equal(client.goaways.length, 2);
  });

  it('follows when the client sent GOAWAY and no request is in progress', async () => {
    const held: Exchange[] = [];
    await using all = await sessions((exchange) => void held.push(exchange));
    const client = (await all.client()).send(getFrame(1), rawFrame(frameType.goaway, 0, 0, Buffer.alloc(8)));
    await client.pinged();
    assert.equal(client.closed, false);
    for (const exchange of held) exchange.respond(200, {}, 'finished');
    assert.equal((await client.whole(1)).body.toString(), 'finished');
    await client.end();
    await until(() => all.started.listener.connections === 0);
  });

  it('cuts off requests in progress on destroy', async () => {
    const held: Exchange[] = [];
    await using all = await sessions((exchange) => {
      held.push(exchange);
      exchange.stream(200, {}).write('part');
    });
    const client = (await all.client()).send(getFrame(1));
    await client.until(() => client.received(1).bytes === 4);
    await client.pinged();
    all.started.listener.close();
    const { ended, reset } = await client.whole(1);
    assert.deepEqual([ended, reset], [false, errorCode.cancel]);
    await client.end();
    await until(() => held[0]?.signal.aborted === true);
  });

  it('ends every exchange when the client vanishes, and leaves no timer', async () => {
    const clock = new ManualClock();
    let [handled, ended] = [0, 0];
    await using all = await sessions(
      (exchange) => {
        handled += 1;
        exchange.onEnd(() => {
          ended += 1;
        });
      },
      { clock },
    );
    const client = await all.client();
    await client.pinged();
    const before = clock.pending;
    client.send(getFrame(1), getFrame(3), postFrame(5), data(5, 10), rawFrame(frameType.headers, 0, 7, none));
    await until(() => handled === 3);
    client.socket.destroy();
    await until(() => all.started.listener.connections === 0);
    assert.equal(ended, 3);
    assert.equal(clock.pending, before);
  });
});
