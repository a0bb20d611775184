import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http2';
import { describe, it } from 'node:test';
import { StatusError } from '../meta/status-error.ts';
import type { Exchange } from './exchange.ts';
import { exchangeText, fetch2, start } from './listener-fixture.ts';

/** Every way to answer an exchange, by path. */
const ways: Readonly<Record<string, (exchange: Exchange) => void>> = {
  '/whole': (exchange) => exchange.respond(200, { 'content-type': 'text/plain' }, 'body'),
  '/created': (exchange) => exchange.respond(201, {}, 'body'),
  '/bodiless': (exchange) => exchange.respond(204, {}),
  '/unchanged': (exchange) => exchange.respond(304, {}),
  '/moved': (exchange) => exchange.respond(301, { location: '/' }),
  '/refused': () => {
    throw new StatusError('Forbidden', 'no');
  },
  '/failed': () => {
    throw new Error('a fault');
  },
  '/streamed': (exchange) => exchange.stream(200, {}).end('body'),
  '/other-cache': (exchange) => exchange.respond(200, { 'cache-control': 'public' }, 'body'),
  '/other-cache-set': (exchange) => {
    exchange.setHeader('cache-control', 'public');
    exchange.stream(200, {}).end('body');
  },
};
const handle = (exchange: Exchange): void => ways[exchange.target]?.(exchange);
const expected = (path: string) => ({
  'cache-control': [path.startsWith('/other-cache') ? 'public' : 'no-cache, private'],
  'x-content-type-options': ['nosniff'],
  'strict-transport-security': ['max-age=60; preload'],
});
/** Headers of every response of the listener. */
const headers = { 'strict-transport-security': 'max-age=60; preload' };

/** All lines of these headers in each response of an HTTP/1.1 connection. */
function linesOf(text: string): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  const [head = ''] = text.split('\r\n\r\n', 1);
  for (const [, name = '', value = ''] of head.matchAll(
    /^(cache-control|x-content-type-options|strict-transport-security): (.*?)\r?$/gim,
  )) {
    found[name.toLowerCase()] = [...(found[name.toLowerCase()] ?? []), value];
  }
  return found;
}

const pick = (received: IncomingHttpHeaders) => ({
  'cache-control': [received['cache-control']],
  'x-content-type-options': [received['x-content-type-options']],
  'strict-transport-security': [received['strict-transport-security']],
});

describe('every response has cache-control and nosniff once', () => {
  for (const path of Object.keys(ways)) {
    for (const method of ['GET', 'HEAD']) {
      it(`${method} ${path}`, async () => {
        await using started = await start(handle, { headers });
        const request = `${method} ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`;
        assert.deepEqual(linesOf(await exchangeText(await started.tls(), request)), expected(path), 'HTTP/1.1');
        const answer = await fetch2(await started.http2(), path, { method });
        assert.deepEqual(pick(answer.headers), expected(path), 'HTTP/2');
      });
    }
  }

  const refusals: readonly (readonly [what: string, request: string, status: number])[] = [
    ['no request', 'nonsense\r\n\r\n', 400],
    ['an unknown method', 'BREW / HTTP/1.1\r\nhost: a\r\n\r\n', 400],
    ['two lengths', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n', 400],
    ['a target without a slash', 'GET x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 400],
    ['headers that are too large', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`, 431],
    ['headers that do not come', 'GET / HTTP/1.1\r\nhost: a\r\nx:', 408],
    ['CONNECT', 'CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\n\r\n', 405],
    ['an expectation', 'GET / HTTP/1.1\r\nhost: a\r\nexpect: tea\r\nconnection: close\r\n\r\n', 417],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['a large target', `GET /${'y'.repeat(20_000)} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`, 414],
  ];
  for (const [what, request, status] of refusals) {
    it(`the refusal of ${what}`, async () => {
      await using started = await start(() => assert.fail('handled'), { headers, limits: { headersMsMax: 200 } });
      const answer = await exchangeText(await started.tls(), request);
      assert.equal(Number(answer.split(' ')[1]), status, answer);
      assert.deepEqual(linesOf(answer), expected('/'));
    });
  }
});

describe('warnings are UTF-8', () => {
  for (const [path, answer] of [
    ['/whole', (exchange: Exchange) => exchange.respond(200, {}, 'body')],
    ['/streamed', (exchange: Exchange) => exchange.stream(200, {}).end('body')],
  ] as const) {
    it(path, async () => {
      await using started = await start((exchange) => {
        exchange.warn('für');
        answer(exchange);
      });
      const request = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n';
      const text = await exchangeText(await started.tls(), request);
      assert.match(Buffer.from(text, 'latin1').toString(), /^warning: 299 - "für"\r$/im);
      const { headers: received } = await fetch2(await started.http2(), '/');
      assert.equal(Buffer.from(String(received['warning']), 'latin1').toString(), '299 - "für"');
    });
  }
});

describe('Expect (RFC 9110 section 10.1.1)', () => {
  for (const [expectation, status] of [
    ['100-continue', 200],
    ['100-Continue', 200],
    ['tea', 417],
    ['100-continue, tea', 417],
    ['', 200],
  ] as const) {
    it(`${expectation || 'nothing'}: ${status} in both protocols`, async () => {
      await using started = await start((exchange) => exchange.respond(200, {}));
      const request = `GET / HTTP/1.1\r\nhost: a\r\nexpect: ${expectation}\r\nconnection: close\r\n\r\n`;
      const answer = await exchangeText(await started.tls(), request);
      assert.equal(Number(/^HTTP\/1.1 ([2-5]\d\d) /m.exec(answer)?.[1]), status, answer);
      const session = await started.http2();
      assert.equal((await fetch2(session, '/', { headers: { expect: expectation } })).status, status);
    });
  }
});

describe('Host (RFC 9112 section 3.2)', () => {
  const cases: readonly (readonly [what: string, lines: readonly string[], version: string, status: number])[] = [
    ['one line', ['host: a'], '1.1', 200],
    ['one with a port', ['Host: [::1]:6443'], '1.1', 200],
    ['an empty one', ['host:'], '1.1', 200],
    ['none', [], '1.1', 400],
    ['none in HTTP/1.0', [], '1.0', 200],
    ['two lines', ['host: a', 'host: b'], '1.1', 400],
    ['the same twice', ['host: a', 'Host: a'], '1.1', 400],
    ['two lines in HTTP/1.0', ['host: a', 'host: b'], '1.0', 400],
    ['two apart', ['HOST: a', 'x: y', 'host: a'], '1.1', 400],
    ['one with a blank in it', ['host: a b'], '1.1', 400],
    ['one with a path', ['host: a/b'], '1.1', 400],
    ['one with a user', ['host: u@a'], '1.1', 400],
  ];
  for (const [what, lines, version, status] of cases) {
    it(`${what}: ${status}`, async () => {
      await using started = await start((exchange) => exchange.respond(200, {}));
      // The server closes the connection after a refusal, whatever the client asks for.
      const closing = status === 200 ? ['connection: close'] : [];
      const request = [`GET / HTTP/${version}`, ...closing, ...lines, '', ''].join('\r\n');
      const answer = await exchangeText(await started.tls(), request);
      assert.equal(Number(answer.split(' ')[1]), status, answer);
      if (status === 400) assert.match(answer, /"reason":"BadRequest"/);
    });
  }
});
