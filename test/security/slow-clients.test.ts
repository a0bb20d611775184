import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import { ClosableStack } from '../../src/base/disposable.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { orch } from '../../src/dialect/orch.ts';
import { exchangeText, fetch2, received, start, until } from '../../src/http/listener-harness.ts';
import { sendStatus } from '../../src/http/status-response.ts';
import { anonymousUser } from '../../src/request/user-info.ts';
import { accessCounts } from '../../src/server/access-counts.ts';
import { servePipeline, stages } from '../../src/server/pipeline.ts';
import type { PipelineParts } from '../../src/server/stages/parts.ts';

/**
 * Clients that send slowly, at the listener and the stages that bound them, on a clock of their own: the limits of the
 * product are too long to wait for. What the listener does alone is tested beside it (`src/http/listener.test.ts`).
 */

/** All stages, and at their end one that reads the body and answers with its length. */
async function serving(clock: ManualClock) {
  const resources = new ClosableStack();
  const refuse: PipelineParts['refuse'] = ({ exchange }, error) =>
    sendStatus(exchange, error, { logger: silentLogger });
  let underWay = 0;
  const parts: PipelineParts = {
    clock,
    resources,
    dialect: orch,
    counts: accessCounts(new Metrics()),
    authenticator: { authenticate: () => anonymousUser },
    authorizer: { authorize: () => ({ verdict: 'allow', reason: '' }) },
    inFlightMax: { reads: 2, writes: 2 },
    refuse,
    async answer({ exchange }) {
      underWay += 1;
      const body = await exchange.body(limits.bodyBytesMax);
      exchange.respond(200, {}, String(body.length));
    },
  };
  const handle = servePipeline(stages(parts), refuse);
  const started = await start(handle, { clock });
  return {
    started,
    underWay: () => underWay,
    async [Symbol.asyncDispose]() {
      resources.close();
      await started[Symbol.asyncDispose]();
    },
  };
}

const path = '/api/v1/namespaces/default/configmaps';

describe('a body that does not come', () => {
  test('is answered with 504 in HTTP/2 when its time is up, and gives its place back', async () => {
    const clock = new ManualClock();
    await using server = await serving(clock);
    const session = await server.started.http2();
    const slow = [0, 1].map(() => session.request({ ':path': path, ':method': 'POST' }, { endStream: false }));
    for (const stream of slow) {
      stream.on('error', () => {});
      stream.write('{"metadata":');
    }
    const answers = slow.map((stream) => received(stream));
    await until(() => server.underWay() === 2);
    assert.equal((await fetch2(session, path, { method: 'POST', body: 'x' })).status, 429, 'all places are taken');
    clock.advance(limits.requestMsMax + 2_000);
    for (const answer of await Promise.all(answers)) assert.equal(answer.status, 504);
    const again = await fetch2(session, path, { method: 'POST', body: 'four' });
    assert.deepEqual([again.status, again.body.toString()], [200, '4']);
  });

  test('is answered with 504 in HTTP/1.1, and the connection ends', async () => {
    const clock = new ManualClock();
    await using server = await serving(clock);
    const socket = await server.started.tls();
    const answer = exchangeText(socket, `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${2 ** 21}\r\n\r\n{`);
    await until(() => server.underWay() === 1);
    clock.advance(limits.requestMsMax + 2_000);
    // For a while what the client still sends is read and dropped, so that it sees the answer.
    clock.advance(limits.lingerMs);
    assert.match(await answer, /^HTTP\/1\.1 504 .*connection: close/is);
  });
});

test('HTTP/2 headers that do not come end the connection', async () => {
  const clock = new ManualClock();
  await using server = await serving(clock);
  const socket = await server.started.tls({ ALPNProtocols: ['h2'] });
  // However it ends: the server may have left bytes unread.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.resume();
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(Buffer.from('000000040000000000', 'hex'));
  // HEADERS without END_HEADERS: the rest would come in CONTINUATION frames, one now and then.
  socket.write(Buffer.from('0000010100000000018a', 'hex'));
  await until(() => server.started.listener.connections === 1);
  clock.advance(3 * limits.headersMsMax);
  await closed;
  assert.equal(server.underWay(), 0);
});

test('connections that say nothing are closed, and others are served meanwhile', async () => {
  const clock = new ManualClock();
  await using server = await serving(clock);
  const silent = await Promise.all(Array.from({ length: 20 }, () => server.started.tls()));
  const gone = silent.map((socket) => once(socket.resume(), 'close'));
  await until(() => server.started.listener.connections === 20);
  assert.equal((await fetch2(await server.started.http2(), path)).status, 200);
  clock.advance(3 * limits.headersMsMax);
  await Promise.all(gone);
});
