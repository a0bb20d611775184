import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { once, until } from '../../base/waits-fixture.ts';
import type { BodyWriter, Exchange } from '../exchange.ts';
import { exchangeText, fetch2, type Started, start } from '../listener-fixture.ts';
import { readToClose } from '../socket-fixture.ts';
import { closeFrame, frameOf, opcodes } from './frames.ts';
import { clientFrame, type ServerFrame, serverFrames } from './websocket-fixture.ts';

const key = 'dGhlIHNhbXBsZSBub25jZQ==';
const upgrade = ['connection: Upgrade', 'upgrade: websocket'];
const asked = [...upgrade, 'sec-websocket-version: 13', `sec-websocket-key: ${key}`];
const request = (lines: readonly string[] = asked, path = '/watch', version = '1.1'): string =>
  [`GET ${path} HTTP/${version}`, 'host: a', ...lines, '', ''].join('\r\n');
const upgrades = (target: string): boolean => target.startsWith('/watch');
const statusOf = (answer: string): number => Number(answer.split(' ')[1]);

/** Opens WebSocket requests, and answers others. */
function handle(exchange: Exchange): void {
  if (!exchange.webSocket) exchange.respond(200, {}, exchange.method);
  else exchange.webSocket.accept(exchange.header('x-protocol')).write(frameOf(opcodes.text, Buffer.from('hello')));
}

describe('a request to become a WebSocket', () => {
  it('is answered with the key of RFC 6455 section 1.3, and then in frames', async () => {
    await using started = await start(handle, { upgrades });
    const socket = await started.tls();
    socket.write(request([...asked, 'x-protocol: v1']));
    const answer = readToClose(socket);
    socket.write(clientFrame(opcodes.close));
    const [head = '', frames = ''] = (await answer).split('\r\n\r\n');
    assert.deepEqual(head.split('\r\n').sort(), [
      'HTTP/1.1 101 Switching Protocols',
      'connection: Upgrade',
      'sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
      'sec-websocket-protocol: v1',
      'upgrade: websocket',
    ]);
    assert.equal(frames, '\x81\x05hello\x88\x02\x03\xe8');
  });

  const refused: readonly (readonly [what: string, lines: readonly string[], status: number, header?: RegExp])[] = [
    ['without a key', [...upgrade, 'sec-websocket-version: 13'], 400],
    ['with a key that is too short', [...upgrade, 'sec-websocket-version: 13', 'sec-websocket-key: eA=='], 400],
    ['with two keys', [...asked, `sec-websocket-key: ${key}`], 400],
    ['without a version', [...upgrade, `sec-websocket-key: ${key}`], 426, /^sec-websocket-version: 13$/m],
    ['of an old version', [...upgrade, 'sec-websocket-version: 8', `sec-websocket-key: ${key}`], 426],
    ['for a protocol that can have no such name', [...asked, 'x-protocol: a b'], 400],
    ['of two hosts', [...asked, 'host: b'], 400],
  ];
  for (const [what, lines, status, header = /^content-type: application\/json$/m] of refused) {
    it(`${what} is refused with ${status}, and the connection ends`, async () => {
      await using started = await start(handle, { upgrades });
      const answer = await exchangeText(await started.tls(), request(lines));
      assert.equal(statusOf(answer), status, answer);
      assert.match(answer, /^connection: close\r$/im);
      assert.match(answer.replaceAll('\r', ''), header);
      assert.match(answer.replaceAll('\r', ''), /^x-content-type-options: nosniff$/m);
    });
  }

  it('whose client does not wait for the response is cut off or refused', async () => {
    await using started = await start(() => {}, { upgrades });
    const both = await started.tls();
    both.write(Buffer.concat([Buffer.from(request()), clientFrame(opcodes.ping)]));
    assert.match(await readToClose(both), /^(HTTP\/1\.1 400 .*)?$/s);
    const later = await started.tls();
    later.write(request());
    await until(() => started.listener.connections === 1);
    later.write(clientFrame(opcodes.ping));
    assert.equal(await readToClose(later), '');
  });

  const plain: readonly (readonly [what: string, text: string])[] = [
    ['for something else', request(asked, '/other')],
    ['by another method', request().replace('GET', 'POST')],
    ['to another protocol', request(asked.map((line) => line.replace(': websocket', ': h2c')))],
    ['to one of several', request(asked.map((line) => line.replace(': websocket', ': websocket, h2c')))],
    ['that Connection does not list', request(asked.slice(1))],
    ['in HTTP/1.0', request([...asked, 'connection: keep-alive'], '/watch', '1.0')],
    ['with a body', `${request([...asked, 'content-length: 1'])}x`],
  ];
  for (const [what, text] of plain) {
    it(`${what} is served as if it had not asked, and so is the next`, async () => {
      await using started = await start(handle, { upgrades });
      const socket = await started.tls();
      socket.write(text);
      const [first] = (await once(socket, 'data')) as [Buffer];
      const second = await exchangeText(socket, 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
      assert.deepEqual([statusOf(first.toString()), statusOf(second)], [200, 200]);
    });
  }

  it('is not upgraded while another request is in progress on the connection', async () => {
    const held: Exchange[] = [];
    await using started = await start((exchange) => void held.push(exchange), { upgrades });
    const socket = await started.tls();
    socket.write('GET /slow HTTP/1.1\r\nhost: a\r\n\r\n');
    socket.write(request([...asked, 'connection: close']));
    await until(() => held.length === 2);
    assert.deepEqual(
      held.map(({ webSocket }) => webSocket),
      [undefined, undefined],
    );
    const answer = readToClose(socket);
    for (const exchange of held.toReversed()) exchange.respond(200, {}, exchange.target);
    assert.match(await answer, /\/slow.*\/watch/s);
  });

  it('is not upgraded over HTTP/2, nor if no target may be', async () => {
    await using started = await start(handle);
    const answer = await exchangeText(await started.tls(), request([...asked, 'connection: close']));
    assert.equal(statusOf(answer), 200);
    const { status } = await fetch2(await started.http2(), '/watch', { headers: { 'sec-websocket-version': '13' } });
    assert.equal(status, 200);
  });

  it('may get an ordinary response; then the connection ends', async () => {
    let ended = 0;
    await using started = await start(
      (exchange) => {
        exchange.onEnd(() => {
          ended += 1;
        });
        exchange.respond(403, {}, 'no');
      },
      { upgrades },
    );
    const answer = await exchangeText(await started.tls(), request());
    assert.match(answer, /^HTTP\/1\.1 403 .*\r\n\r\nno$/s);
    await until(() => ended === 1 && started.listener.connections === 0);
  });
});

/** Both sides of a WebSocket. */
class Pair implements AsyncDisposable {
  readonly #started: Started;
  readonly clock = new ManualClock();
  readonly socket: TLSSocket;
  readonly exchange: Exchange;
  readonly writer: BodyWriter;
  #received = Buffer.alloc(0);
  ended = false;

  private constructor(started: Started, socket: TLSSocket, exchange: Exchange, clock: ManualClock) {
    this.#started = started;
    this.socket = socket;
    this.exchange = exchange;
    this.clock = clock;
    exchange.onEnd(() => {
      this.ended = true;
    });
    this.writer = exchange.webSocket?.accept(undefined) ?? assert.fail('no WebSocket');
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
    });
  }

  static async open(): Promise<Pair> {
    const clock = new ManualClock();
    let exchange: Exchange | undefined;
    const started = await start(
      (each) => {
        exchange = each;
      },
      { upgrades, clock },
    );
    const socket = await started.tls();
    socket.write(request());
    await until(() => exchange !== undefined);
    const pair = new Pair(started, socket, exchange as Exchange, clock);
    await until(() => pair.isOpen);
    return pair;
  }

  get isOpen(): boolean {
    return this.#received.includes('\r\n\r\n');
  }

  get frames(): readonly ServerFrame[] {
    const start = this.#received.indexOf('\r\n\r\n');
    return start < 0 ? [] : serverFrames(this.#received.subarray(start + 4)).frames;
  }

  /** The kind and content of each frame. */
  get texts(): readonly string[] {
    return this.frames.map(
      ({ opcode, payload }) => `${opcode} ${opcode === opcodes.close ? payload.readUInt16BE() : payload}`,
    );
  }

  get connections(): number {
    return this.#started.listener.connections;
  }

  drain(ms: number): Promise<void> {
    return this.#started.listener.drain(ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started[Symbol.asyncDispose]();
  }
}

describe('an open WebSocket', () => {
  it('carries frames both ways, and ends with the code of the client', async () => {
    await using pair = await Pair.open();
    pair.writer.write(frameOf(opcodes.text, Buffer.from('one')));
    pair.socket.write(Buffer.concat([clientFrame(opcodes.text, 'dropped'), clientFrame(opcodes.ping, 'p')]));
    await until(() => pair.frames.length === 2);
    pair.writer.write(frameOf(opcodes.text, Buffer.from('two')));
    const away = Buffer.from([0x03, 0xe9]);
    pair.socket.write(clientFrame(opcodes.close, away));
    await until(() => pair.ended && pair.connections === 0);
    assert.deepEqual(pair.texts, ['1 one', '10 p', '1 two', '8 1001']);
    assert.equal(pair.writer.write('x'), true, 'what is written later is for nobody');
  });

  it('is closed by the server with a code, and the client confirms', async () => {
    await using pair = await Pair.open();
    pair.writer.end(frameOf(opcodes.text, Buffer.from('last')));
    await until(() => pair.frames.length === 2);
    assert.deepEqual(pair.texts, ['1 last', '8 1000']);
    assert.equal(pair.ended, false);
    pair.socket.end(clientFrame(opcodes.close, Buffer.from([0x03, 0xe8])));
    await until(() => pair.ended && pair.connections === 0);
    assert.equal(pair.exchange.signal.aborted, false, 'it came to its end');
  });

  it('is destroyed if the client does not confirm the close', async () => {
    await using pair = await Pair.open();
    pair.socket.allowHalfOpen = true;
    pair.writer.end();
    await until(() => pair.frames.length === 1);
    await until(() => {
      pair.clock.advance(limits.lingerMs);
      return pair.ended;
    });
  });

  it('wakes waiting writers when the client is gone', async () => {
    await using pair = await Pair.open();
    const { signal } = pair.exchange;
    pair.socket.destroy();
    await until(() => pair.ended);
    assert.equal(signal.aborted, true);
  });

  for (const [what, bytes, told] of [
    ['an unmasked frame', frameOf(opcodes.text, Buffer.from('x')), 1002],
    ['an unmasked end', closeFrame(1000), 1002],
    ['a message that is too long', clientFrame(opcodes.text, Buffer.alloc(limits.webSocketMessageBytesMax + 1)), 1009],
    ['a second message among pieces', Buffer.concat([clientFrame(1, 'a', { last: false }), clientFrame(1, 'b')]), 1002],
    ['a bad code', clientFrame(opcodes.close, Buffer.from([0, 1])), 1002],
    ['words that are no text', clientFrame(opcodes.close, Buffer.from([0x03, 0xe8, 0xff])), 1007],
  ] as const) {
    it(`is ended by ${what} with ${told}`, async () => {
      await using pair = await Pair.open();
      pair.socket.write(Buffer.concat([bytes, clientFrame(opcodes.ping, 'not looked at any more')]));
      await until(() => pair.ended && pair.connections === 0);
      assert.deepEqual(pair.texts, [`8 ${told}`]);
    });
  }

  it('of a client that answers pings stays open', async () => {
    await using pair = await Pair.open();
    for (let round = 1; round <= 4; round += 1) {
      pair.clock.advance(limits.webSocketPingMs);
      await until(() => pair.frames.length === 2 * round - 1);
      // The answer to the second frame shows that the first was read.
      pair.socket.write(Buffer.concat([clientFrame(opcodes.pong), clientFrame(opcodes.ping, 'seen')]));
      await until(() => pair.frames.length === 2 * round);
    }
    assert.deepEqual(pair.texts, Array(4).fill(['9 ', '10 seen']).flat());
    assert.equal(pair.ended, false);
  });

  it('of a client that does not answer a ping is cut off', async () => {
    await using pair = await Pair.open();
    pair.clock.advance(limits.webSocketPingMs);
    await until(() => pair.frames.length === 1);
    assert.equal(pair.ended, false);
    pair.clock.advance(limits.webSocketPingMs);
    await until(() => pair.ended);
  });

  it('of a client that does not read applies backpressure, and answers no flood of pings', async () => {
    await using pair = await Pair.open();
    pair.socket.pause();
    const large = frameOf(opcodes.binary, Buffer.alloc(1024 * 1024));
    let written = 0;
    await until(() => {
      pair.writer.write(large);
      written += 1;
      return pair.writer.buffered >= 4 * large.length;
    });
    const before = pair.writer.buffered;
    const flood = Buffer.concat(Array.from({ length: 1_000 }, () => clientFrame(opcodes.ping, 'x'.repeat(125))));
    for (let sent = 0; sent < 20; sent += 1) {
      pair.socket.write(flood);
      await new Promise(setImmediate);
    }
    assert.equal(pair.writer.buffered, before);
    pair.socket.resume();
    await pair.writer.drained();
    await until(() => pair.frames.length >= written);
  });

  it('is closed cleanly when the server stops, and cut off after a timeout', async () => {
    await using pair = await Pair.open();
    const drained = pair.drain(60_000);
    pair.writer.end();
    await once(pair.socket, 'end');
    await drained;
    assert.deepEqual(pair.texts, ['8 1000']);
    await using other = await Pair.open();
    const cut = other.drain(10);
    other.clock.advance(10);
    await cut;
    assert.equal(other.ended, true);
  });

  it('can be cut off', async () => {
    await using pair = await Pair.open();
    pair.writer.abort();
    await once(pair.socket, 'close');
    assert.deepEqual(pair.texts, []);
  });
});
