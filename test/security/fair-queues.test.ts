import assert from 'node:assert/strict';
import type { ClientHttp2Session } from 'node:http2';
import { describe, test } from 'node:test';
import { ClosableStack } from '../../src/base/disposable.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { sendStatus } from '../../src/content/status.ts';
import { exchangeText, fetch2, type Received, start } from '../../src/http/listener-fixture.ts';
import { groupMasters } from '../../src/request/user-info.ts';
import { pipelineOf, pipelineParts } from '../../src/server/serving/pipeline-fixture.ts';

/**
 * The order in which requests are served where seats are short: over real connections, with answers that come when the test
 * says so, so that nothing depends on how fast anything is.
 */

const path = '/api/v1/namespaces/default/configmaps';
const seats = 8;

interface UnderWay {
  readonly user: string;
  readonly answer: () => void;
}

async function serving() {
  const resources = new ClosableStack();
  const underWay: UnderWay[] = [];
  const parts = pipelineParts({
    clock: new ManualClock(),
    resources,
    flow: { max: { reads: seats, writes: seats } },
    authenticator: {
      authenticate: (credentials) => {
        const username = credentials.header('authorization') ?? '';
        return { username, uid: '', groups: username === 'root' ? [groupMasters] : [], extra: {} };
      },
    },
    refuse: ({ exchange }, error) => sendStatus(exchange, error, { clock: new ManualClock(), logger: silentLogger }),
    answer: ({ exchange, user }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      underWay.push({ user: user.username, answer: resolve });
      return promise.then(() => exchange.respond(200, {}, user.username));
    },
  });
  const started = await start(pipelineOf(parts));
  const pool = parts.flowControl.pools.mutating;
  const session = await started.http2();
  const send = (on: ClientHttp2Session, user: string, more: Record<string, string> = {}): Promise<Received> =>
    fetch2(on, path, { method: 'POST', body: '{}', headers: { authorization: user, ...more } });
  return {
    started,
    underWay,
    pool,
    /** Answered when one calls `answer` of it. */
    send: (user: string, more?: Record<string, string>) => send(session, user, more),
    /** Over many connections; what becomes of it is nobody's concern. */
    async flood(user: string, connections: number, each: number): Promise<void> {
      for (let n = 0; n < connections; n++) {
        const own = await started.http2();
        for (let m = 0; m < each; m++) send(own, user).catch(() => {});
      }
    },
    /** Serves, one after the other, until the answer has come; gives the users served meanwhile. */
    async serveUntil(answer: Promise<unknown>): Promise<readonly string[]> {
      const served: string[] = [];
      let done = false;
      answer.then(() => {
        done = true;
      });
      while (!done) {
        await until(() => done || underWay.length > 0);
        const next = underWay.shift();
        if (!next) break;
        next.answer();
        served.push(next.user);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return served;
    },
    async [Symbol.asyncDispose]() {
      resources.close();
      await started[Symbol.asyncDispose]();
    },
  };
}

describe('beside a flood over 50 connections', () => {
  test('a second user has a seat at once, again and again', async () => {
    await using server = await serving();
    await server.flood('flood', 50, 10);
    await until(() => server.pool.waiting > 400);
    for (let n = 0; n < 20; n++) {
      const answer = server.send('second');
      await until(() => server.underWay.some(({ user }) => user === 'second'));
      const at = server.underWay.findIndex(({ user }) => user === 'second');
      server.underWay.splice(at, 1)[0]?.answer();
      assert.equal((await answer).status, 200);
    }
    assert.ok(server.pool.waiting > 400, 'the flood still waits');
  });

  test('and with no seat left, a second user waits for one answer and not for the flood', async () => {
    await using server = await serving();
    await server.flood('flood', 50, 10);
    await until(() => server.pool.waiting > 400);
    for (const other of ['a', 'b', 'c', 'd', 'e']) await server.flood(other, 1, 5);
    await until(() => server.pool.inFlight === seats && server.pool.waiting > 410);
    const served = await server.serveUntil(server.send('second'));
    // Each of seven tenants at most twice: before the second comes, and in the round in which it is served.
    assert.ok(served.length <= 2 * 7 + seats, served.join(' '));
    assert.ok(server.pool.waiting > 350, 'the flood still waits');
  });

  test('that comes through impersonation, a second user has a seat at once', async () => {
    await using server = await serving();
    for (let n = 0; n < 90; n++) server.send('flood', { 'impersonate-user': `somebody-${n}` }).catch(() => {});
    await until(() => server.pool.waiting > 80);
    const answer = server.send('second');
    await until(() => server.underWay.some(({ user }) => user === 'second'));
    server.underWay.find(({ user }) => user === 'second')?.answer();
    assert.equal((await answer).status, 200);
  });

  test('masters are served as if nothing else went on', async () => {
    await using server = await serving();
    for (const user of ['a', 'b', 'c', 'd', 'e', 'f']) await server.flood(user, 1, 20);
    await until(() => server.pool.inFlight === seats);
    const answers = Array.from({ length: 50 }, () => server.send('root'));
    await until(() => server.underWay.filter(({ user }) => user === 'root').length === 50);
    for (const { user, answer } of server.underWay) if (user === 'root') answer();
    for (const answer of answers) assert.equal((await answer).status, 200);
    assert.equal(server.pool.inFlight, seats);
  });

  test('what is too much is answered with 429 and Retry-After, in HTTP/1.1 and HTTP/2', async () => {
    await using server = await serving();
    await server.flood('flood', 50, 12);
    await until(() => server.pool.waiting === 500);
    const { status, headers } = await server.send('flood');
    assert.deepEqual([status, headers['retry-after']], [429, '1']);
    const socket = await server.started.tls();
    const head = ['host: x', 'authorization: flood', 'content-length: 2', 'connection: close'].join('\r\n');
    const text = await exchangeText(socket, `POST ${path} HTTP/1.1\r\n${head}\r\n\r\n{}`);
    assert.match(text, /^HTTP\/1\.1 429 [\s\S]*\r\nretry-after: 1\r\n/i);
  });
});

test('who goes away while waiting waits no more, and one whose work goes on keeps its seat', async () => {
  await using server = await serving();
  const own = await server.started.http2();
  const gone = Array.from({ length: 50 }, () =>
    fetch2(own, path, { method: 'POST', body: '{}', headers: { authorization: 'flood' } }).catch(() => {}),
  );
  await until(() => server.pool.inFlight + server.pool.waiting === 50);
  const { inFlight } = server.pool;
  own.destroy();
  await Promise.all(gone);
  await until(() => server.pool.waiting === 0);
  assert.equal(server.pool.inFlight, inFlight);
  for (const { answer } of server.underWay) answer();
  await until(() => server.pool.inFlight === 0);
});
