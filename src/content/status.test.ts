import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { limits } from '../base/limits.ts';
import { silentLogger } from '../base/logger.ts';
import { ManualClock } from '../base/time/clock.ts';
import type { Exchange } from '../http/exchange.ts';
import { fetch2, type Started, start } from '../http/listener-fixture.ts';
import { sendBytes } from '../http/respond.ts';
import {
  methodNotAllowed,
  noSuchPath,
  StatusError,
  tooLargeResourceVersion,
  unknownOutcome,
} from '../meta/status-error.ts';
import { StoreError } from '../store/store.ts';
import { sendStatus } from './status.ts';

const clock = new ManualClock(Date.UTC(2026, 0, 1));

let handle: (exchange: Exchange) => void = () => {};
let started: Started;
before(async () => {
  started = await start((exchange) => handle(exchange));
});
after(() => started[Symbol.asyncDispose]());

interface RequestLine {
  readonly method?: string;
  readonly target?: string;
}

const answer = async (
  run: (exchange: Exchange) => void,
  headers: Record<string, string> = {},
  line: RequestLine = {},
) => {
  handle = run;
  const session = await started.http2();
  const { method = 'GET', target = '/' } = line;
  const received = await fetch2(session, target, { headers, method });
  session.destroy();
  return received;
};
const logger = silentLogger;

describe('sendStatus', () => {
  it('logs a full store at first, and then once a minute with a count of failures', async () => {
    const lines: unknown[] = [];
    const counting = { ...silentLogger, error: (_: string, fields?: object) => void lines.push(fields) };
    const time = new ManualClock();
    const failing = (cause: Error) => (exchange: Exchange) =>
      sendStatus(exchange, new StatusError('ServiceUnavailable', 'no', { cause }), { clock: time, logger: counting });
    for (let n = 0; n < 5; n++) await answer(failing(new StoreError('full', 'no room')));
    assert.equal(lines.length, 1);
    time.advance(limits.fullStoreLogMs);
    await answer(failing(new StoreError('full', 'no room')));
    assert.deepEqual(
      lines.map((fields) => (fields as { others: number }).others),
      [0, 4],
    );
    for (let n = 0; n < 2; n++) await answer(failing(new StoreError('unavailable', 'gone')));
    assert.equal(lines.length, 4, 'other errors are logged each');
  });

  it('sends the Status, its code and its headers', async () => {
    const { status, headers, body } = await answer((exchange) => {
      exchange.warn('mind');
      sendStatus(exchange, methodNotAllowed('no', ['GET', 'POST']), { clock, logger });
    });
    assert.deepEqual([status, headers.allow, headers.warning], [405, 'GET, POST', '299 - "mind"']);
    assert.deepEqual([headers['content-type'], headers['cache-control']], ['application/json', 'no-cache, private']);
    assert.deepEqual(JSON.parse(body.toString()), {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'no',
      reason: 'MethodNotAllowed',
      details: {},
      code: 405,
    });
  });

  it('sends Retry-After', async () => {
    const { status, headers } = await answer((exchange) =>
      sendStatus(exchange, tooLargeResourceVersion(9, 1), { clock, logger }),
    );
    assert.deepEqual([status, headers['retry-after']], [504, '1']);
  });

  it('prevents automatic retries of a write of unknown outcome', async () => {
    const { status, headers } = await answer((exchange) =>
      sendStatus(exchange, unknownOutcome('no answer'), { clock, logger }),
    );
    assert.deepEqual([status, headers['retry-after']], [504, 'Thu, 01 Jan 2026 00:00:01 GMT']);
  });

  it('supports YAML and pretty JSON', async () => {
    const yaml = await answer((exchange) =>
      sendStatus(exchange, noSuchPath(), { clock, logger, format: 'yaml', mediaType: 'application/yaml' }),
    );
    assert.equal(yaml.headers['content-type'], 'application/yaml');
    assert.match(yaml.body.toString(), /^reason: NotFound$/m);
    const pretty = await answer((exchange) => sendStatus(exchange, noSuchPath(), { clock, logger, pretty: true }));
    assert.match(pretty.body.toString(), /^ {2}"reason": "NotFound",$/m);
  });

  it('hides other errors, and logs them with their cause', async () => {
    const logged: unknown[] = [];
    const listening = { ...silentLogger, error: (_: string, fields?: object) => void logged.push(fields) };
    for (const thrown of [new Error('inner'), 'inner', undefined, null, { toString: null }]) {
      const { status, body } = await answer((exchange) => sendStatus(exchange, thrown, { clock, logger: listening }));
      assert.equal(status, 500);
      assert.ok(!body.includes('inner'));
    }
    assert.equal(logged.length, 5);
  });

  for (const [target, path] of [
    ['/SECRET', '***'],
    ['/SECRET/api?watch=1', '***'],
    ['/api/v1/nodes?access_token=SECRET', '/api/v1/nodes'],
    ['/apis/g/v1/pods?watch=1', '/apis/g/v1/pods'],
  ] as const) {
    for (const [what, thrown] of [
      ['an error', new Error('inner')],
      ['a full store', new StatusError('ServiceUnavailable', 'no', { cause: new StoreError('full', 'no room') })],
    ] as const) {
      it(`logs ${what} of a request to ${target} without what may be secret`, async () => {
        const logged: object[] = [];
        const listening = { ...silentLogger, error: (_: string, fields = {}) => void logged.push(fields) };
        await answer((exchange) => sendStatus(exchange, thrown, { clock, logger: listening }), {}, { target });
        assert.deepEqual(
          logged.map((fields) => 'path' in fields && fields.path),
          [path],
        );
      });
    }
  }

  it('logs store failures, but not refused requests', async () => {
    const logged: unknown[] = [];
    const listening = { ...silentLogger, error: (_: string, fields?: object) => void logged.push(fields) };
    const cause = new Error('disk full');
    await answer((exchange) =>
      sendStatus(exchange, new StatusError('ServiceUnavailable', 'try again', { cause }), { clock, logger: listening }),
    );
    assert.deepEqual(logged.splice(0), [{ 'audit-ID': undefined, method: 'GET', path: '/', error: cause }]);
    for (const error of [
      new StatusError('Unauthorized', 'Unauthorized', { cause }),
      new StatusError('ServiceUnavailable', 'the server is shutting down'),
      tooLargeResourceVersion(9, 1),
    ]) {
      await answer((exchange) => sendStatus(exchange, error, { clock, logger: listening }));
    }
    assert.deepEqual(logged, []);
  });

  it('does not touch a response that has started', async () => {
    const { status, body } = await answer((exchange) => {
      const writer = exchange.stream(200, {});
      sendStatus(exchange, new StatusError('Conflict', 'late'), { clock, logger });
      writer.end('as it was');
    });
    assert.deepEqual([status, body.toString()], [200, 'as it was']);
  });
});

describe('sendBytes', () => {
  const send =
    (length: number, compress = true) =>
    (exchange: Exchange) =>
      sendBytes(exchange, { status: 200, contentType: 'application/json', body: Buffer.alloc(length, 'ab'), compress });
  for (const length of [0, 100, 5_000, 60_000, 500_000]) {
    it(`compresses ${length} bytes where the client asks`, async () => {
      const { headers, body } = await answer(send(length), { 'accept-encoding': 'deflate, gzip' });
      assert.deepEqual([headers['content-encoding'], headers.vary], ['gzip', 'accept-encoding']);
      assert.equal(headers['content-length'], String(body.length));
      assert.deepEqual(gunzipSync(body), Buffer.alloc(length, 'ab'));
    });
  }
  it('does not compress if not accepted, if disabled, and for writes', async () => {
    for (const { headers, body } of [
      await answer(send(5_000)),
      await answer(send(5_000), { 'accept-encoding': 'gzip;q=0' }),
      await answer(send(5_000, false), { 'accept-encoding': 'gzip' }),
      await answer(send(5_000), { 'accept-encoding': 'gzip' }, { method: 'DELETE' }),
    ]) {
      assert.deepEqual([headers['content-encoding'], headers.vary, body.length], [undefined, undefined, 5_000]);
    }
  });
  it('does not respond twice when the deadline passes during compression', async () => {
    const { status } = await answer(
      (exchange) => {
        send(500_000)(exchange);
        sendStatus(exchange, new StatusError('Timeout', 'too slow'), { clock, logger });
      },
      { 'accept-encoding': 'gzip' },
    );
    assert.equal(status, 504);
  });
});
