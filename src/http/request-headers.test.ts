import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import type { Exchange } from './exchange.ts';
import { exchangeText, fetch2, type Started, start, until } from './listener-harness.ts';

describe('headers that were hidden are not there any more', () => {
  const clients: Readonly<Record<string, (started: Started) => Promise<unknown>>> = {
    'HTTP/2.0': async (started) =>
      fetch2(await started.http2(), '/', { headers: { 'X-One': ['a', 'b'], 'x-two': 'c', 'x-four': 'd' } }),
    'HTTP/1.1': async (started) => {
      const lines = ['GET / HTTP/1.1', 'host: a', 'connection: close', 'X-One: a', 'x-one: b', 'x-two: c', 'x-four: d'];
      return exchangeText(await started.tls(), `${lines.join('\r\n')}\r\n\r\n`);
    },
  };
  for (const [protocol, send] of Object.entries(clients)) {
    it(protocol, async () => {
      const seen: unknown[] = [];
      const look = (exchange: Exchange): void => {
        const names = exchange.headerNames().filter((name) => name.startsWith('x-'));
        const one = [exchange.header('x-one'), ...exchange.headerLines('x-one')];
        seen.push([names, one, exchange.hasHeaderBeginning('x-o'), exchange.hasHeaderBeginning('x-t')]);
      };
      await using started = await start((exchange) => {
        look(exchange);
        exchange.hideHeaders((name) => name === 'x-one');
        look(exchange);
        exchange.hideHeaders((name) => name.startsWith('x-t'));
        look(exchange);
        seen.push(exchange.hasHeaderBeginning('x-f'), exchange.protocol);
        exchange.respond(200, {});
      });
      await send(started);
      assert.deepEqual(seen, [
        [['x-one', 'x-two', 'x-four'], ['a, b', 'a', 'b'], true, true],
        [['x-two', 'x-four'], [undefined], false, true],
        [['x-four'], [undefined], false, false],
        true,
        protocol,
      ]);
    });
  }
});

/** A header field as a literal that is not indexed (RFC 7541 section 6.2.2); both texts below 127 bytes. */
const field = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);

/** A HEADERS frame that ends headers and stream: GET over https. */
function requestFrame(stream: number, path: string, ...more: readonly Buffer[]): Buffer {
  const block = Buffer.concat([Buffer.from([0x82, 0x87]), field(':path', path), field(':authority', 'a'), ...more]);
  return Buffer.concat([Buffer.from([0, 0, block.length, 1, 5, 0, 0, 0, stream]), block]);
}

it('HTTP/2 has no Connection header: a request with one never comes through (RFC 9113 section 8.2.2)', async () => {
  const targets: string[] = [];
  await using started = await start((exchange) => {
    targets.push(exchange.target);
    exchange.respond(200, {});
  });
  const socket = await started.tls({ ALPNProtocols: ['h2'] });
  const closed = once(socket, 'close');
  socket.resume();
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(Buffer.from('000000040000000000', 'hex'));
  socket.write(requestFrame(1, '/bad', field('connection', 'x-remote-user'), field('x-remote-user', 'jane')));
  socket.write(requestFrame(3, '/good', field('x-remote-user', 'jane')));
  await until(() => targets.length > 0);
  assert.deepEqual(targets, ['/good']);
  socket.destroy();
  await closed;
});
