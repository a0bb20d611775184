import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../base/limits.ts';
import { until } from '../base/waits-fixture.ts';
import type { Exchange } from './exchange.ts';
import { exchangeText, start } from './listener-fixture.ts';

/** Pipelined HTTP/1.1 requests (RFC 9112 section 9.3.2). */

const get = (path: string, ...more: readonly string[]): string =>
  [`GET ${path} HTTP/1.1`, 'host: a', ...more, '', ''].join('\r\n');

const echo = (exchange: Exchange): void => exchange.respond(200, {}, `${exchange.method} ${exchange.target}`);

test('pipelined requests are answered in order, up to a limit', async () => {
  let handle: (exchange: Exchange) => void = echo;
  await using started = await start((exchange) => handle(exchange));
  const socket = await started.tls();
  const answer = await exchangeText(socket, get('/1') + get('/2') + get('/3', 'connection: close'));
  assert.deepEqual(
    [...answer.matchAll(/GET \/(\d)/g)].map(([, number]) => number),
    ['1', '2', '3'],
  );
  const held: Exchange[] = [];
  handle = (exchange) => void held.push(exchange);
  const flood = await started.tls();
  flood.write(get('/').repeat(limits.streamsPerConnectionMax));
  await until(() => held.length === limits.streamsPerConnectionMax);
  await exchangeText(flood, get('/'));
  assert.equal(held.length, limits.streamsPerConnectionMax);
  assert.ok(held.every((exchange) => exchange.signal.aborted));
});

test('pipelined requests are not all handled in one turn of the event loop', async () => {
  const count = 20;
  const events: string[] = [];
  await using started = await start((exchange) => {
    if (events.push('begun') === 1) setImmediate(() => events.push('a turn of others'));
    echo(exchange);
  });
  await exchangeText(await started.tls(), get('/').repeat(count - 1) + get('/', 'connection: close'));
  assert.equal(events.filter((event) => event === 'begun').length, count);
  assert.ok(events.indexOf('a turn of others') < count, 'all of them began before others had a turn');
});

test('a large body right behind a large answer is read', async () => {
  const large = 'x'.repeat(1_000_000);
  await using started = await start((exchange) => {
    if (exchange.method === 'GET') exchange.respond(200, {}, large);
    else void exchange.body(1_000_000).then((body) => exchange.respond(200, {}, `read ${body.length}`));
  });
  const lines = ['POST / HTTP/1.1', 'host: a', 'content-length: 500000', 'connection: close', '', ''];
  const answer = await exchangeText(await started.tls(), get('/') + lines.join('\r\n') + large.slice(0, 500_000));
  assert.match(answer, /read 500000$/);
});
