import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ClosableStack } from '../../src/base/disposable.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { once, until } from '../../src/base/waits-fixture.ts';
import { sendStatus } from '../../src/content/status.ts';
import { exchangeText, fetch2, received, type Started, start } from '../../src/http/listener-fixture.ts';
import { closed } from '../../src/http/socket-fixture.ts';
import type { Tenant } from '../../src/server/serving/flow-control/tenant.ts';
import { operationOf, pipelineOf, pipelineParts } from '../../src/server/serving/pipeline-fixture.ts';

/**
 * Clients that send slowly, at the listener and the stages that bound them, on a clock of their own: the limits of the
 * product are too long to wait for. What the listener does alone is tested beside it (`src/http/listener.test.ts`).
 */

/** All stages, two seats for writes, and an answer that is the length of the body. */
async function serving(clock: ManualClock) {
  const resources = new ClosableStack();
  const parts = pipelineParts({
    clock,
    resources,
    flow: { max: { reads: 2, writes: 2 } },
    refuse: ({ exchange }, error) => sendStatus(exchange, error, { clock: new ManualClock(), logger: silentLogger }),
    prepare: ({ info, ticket }) => {
      tenant = ticket?.tenant;
      return operationOf(info);
    },
    answer: ({ exchange, ticket }) => exchange.respond(200, {}, String(ticket?.body?.bytes.length ?? '')),
  });
  const { bodies } = parts.flowControl;
  let tenant: Tenant | undefined;
  const started = await start(pipelineOf(parts), { clock });
  return {
    started,
    /** Until so many bodies are on their way. */
    arriving: (count: number) => until(() => bodies.arriving === count),
    /** Until so many bytes of bodies have come. */
    holding: (bytes: number) => until(() => tenant?.bodyBytes.held === bytes),
    async [Symbol.asyncDispose]() {
      resources.close();
      await started[Symbol.asyncDispose]();
    },
  };
}

const path = '/api/v1/namespaces/default/configmaps';
/** Until a body that is too slow has certainly been noticed. */
const noticedMs = limits.bodyGraceMs + 2_000;

/** A POST of which only the beginning of the body comes; the rest by `send`. */
interface SlowPost {
  send(text: string): void;
  /** The status, once there is one, and once connection or stream have ended. */
  readonly ended: Promise<number>;
}

const protocols: readonly (readonly [name: string, post: (started: Started, length: number) => Promise<SlowPost>])[] = [
  [
    'HTTP/1.1',
    async (started, length) => {
      const socket = await started.tls();
      const answer = exchangeText(socket, `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n{`);
      return {
        send: (text) => socket.write(text),
        ended: answer.then((text) => {
          assert.match(text, /\r\nconnection: close\r\n/i);
          return Number(text.split(' ')[1]);
        }),
      };
    },
  ],
  [
    'HTTP/2',
    async (started) => {
      const stream = (await started.http2()).request({ ':path': path, ':method': 'POST' }, { endStream: false });
      stream.on('error', () => {});
      stream.write('{');
      return {
        send: (text) => stream.write(text),
        ended: Promise.all([received(stream), once(stream, 'close')]).then(([{ status }]) => status),
      };
    },
  ],
];

for (const [protocol, post] of protocols) {
  describe(`a body that is slow over ${protocol}`, () => {
    for (const length of [100, 2 ** 21]) {
      test(`and stops, of ${length} bytes: 408, and the end`, async () => {
        const clock = new ManualClock();
        await using server = await serving(clock);
        const slow = await post(server.started, length);
        await server.arriving(1);
        clock.advance(noticedMs);
        await server.arriving(0);
        // For a while what the client still sends is read and dropped, so that it sees the answer.
        clock.advance(limits.lingerMs);
        assert.equal(await slow.ended, 408);
      });
    }

    test('takes no seat: others write meanwhile', async () => {
      const clock = new ManualClock();
      await using server = await serving(clock);
      const slow = await Promise.all(Array.from({ length: 5 }, () => post(server.started, 100)));
      await server.arriving(5);
      const other = await server.started.http2();
      assert.equal((await fetch2(other, path, { method: 'POST', body: 'four' })).status, 200);
      clock.advance(noticedMs);
      await server.arriving(0);
      clock.advance(limits.lingerMs);
      for (const { ended } of slow) assert.equal(await ended, 408);
    });

    test('and fast enough goes on until its time is up: 504', async () => {
      const clock = new ManualClock();
      await using server = await serving(clock);
      const slow = await post(server.started, 2 ** 21);
      await server.arriving(1);
      const enough = (limits.bodyBytesPerSecondMin * limits.bodyGraceMs) / 1000;
      let sent = 1;
      for (let passed = 0; passed < limits.requestMsMax; passed += limits.bodyGraceMs) {
        slow.send('x'.repeat(enough));
        sent += enough;
        await server.holding(sent);
        clock.advance(limits.bodyGraceMs);
      }
      clock.advance(2_000);
      await server.arriving(0);
      clock.advance(limits.lingerMs);
      assert.equal(await slow.ended, 504);
    });
  });
}

test('HTTP/2 headers that do not come end the connection', async () => {
  const clock = new ManualClock();
  await using server = await serving(clock);
  const socket = await server.started.tls({ ALPNProtocols: ['h2'] });
  // However it ends: the server may have left bytes unread.
  const ended = closed(socket);
  socket.resume();
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(Buffer.from('000000040000000000', 'hex'));
  // HEADERS without END_HEADERS: the rest would come in CONTINUATION frames, one now and then.
  socket.write(Buffer.from('0000010100000000018a', 'hex'));
  await until(() => server.started.listener.connections === 1);
  clock.advance(3 * limits.headersMsMax);
  await ended;
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
