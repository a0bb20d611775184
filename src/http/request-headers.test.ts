import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Exchange } from './exchange.ts';
import { rawField } from './h2/raw-frames-fixture.ts';
import { pathFrame, sessions } from './h2/session-fixture.ts';
import { exchangeText, fetch2, type Started, start } from './listener-fixture.ts';

describe('hidden headers are invisible', () => {
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
        seen.push([names, one, exchange.hasHeaderPrefix('x-o'), exchange.hasHeaderPrefix('x-t')]);
      };
      await using started = await start((exchange) => {
        look(exchange);
        exchange.hideHeaders((name) => name === 'x-one');
        look(exchange);
        exchange.hideHeaders((name) => name.startsWith('x-t'));
        look(exchange);
        seen.push(exchange.hasHeaderPrefix('x-f'), exchange.protocol);
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

it('HTTP/2 has no Connection header: a request with one never comes through (RFC 9113 section 8.2.2)', async () => {
  const targets: string[] = [];
  await using all = await sessions((exchange) => {
    targets.push(exchange.target);
    exchange.respond(200, {});
  });
  const client = await all.client();
  const user = rawField('x-remote-user', 'jane');
  client.send(pathFrame(1, '/bad', rawField('connection', 'x-remote-user'), user), pathFrame(3, '/good', user));
  assert.equal((await client.whole(1)).status, 400);
  assert.equal((await client.whole(3)).status, 200);
  assert.deepEqual(targets, ['/good']);
});
