import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { SpanFixture } from '../base/span-fixture.ts';
import { ManualClock } from '../base/time/clock.ts';
import { within } from '../base/waits-fixture.ts';
import type { ConnectionConfig } from './connection-config.ts';
import { bareWorld, type Handler, TlsFixture } from './tls-fixture.ts';
import { type WebhookSender, webhookSender } from './webhook-sender.ts';

let server: TlsFixture;

async function withSender(
  use: (sender: WebhookSender, clock: ManualClock) => Promise<void>,
  more: Partial<ConnectionConfig> = {},
): Promise<void> {
  const clock = new ManualClock();
  const options = { ...bareWorld, clock, timeoutMs: 1_000, userAgent: 'test/1' };
  const sender = webhookSender(server.connection('/a/b?c=d', more), options);
  try {
    await use(sender, clock);
  } finally {
    sender.close();
    assert.equal(clock.pending, 0);
  }
}

for (const protocol of ['http/1.1', 'h2'] as const) {
  describe(`a webhook call by ${protocol}`, () => {
    before(async () => {
      server = new TlsFixture(['api.example.com'], { protocols: ['http/1.1', protocol] });
      await server.listen();
    });
    after(async () => server.close());

    it('goes to exactly its URL, and returns any status', async () => {
      const seen: unknown[] = [];
      server.handle = (request, response) => {
        const { accept, 'content-type': type, 'user-agent': agent, authorization } = request.headers;
        assert.equal(request.httpVersion, protocol === 'h2' ? '2.0' : '1.1');
        seen.push([request.method, request.url, accept, type, agent, authorization]);
        response.writeHead(429, { 'retry-after': '7' });
        request.pipe(response);
      };
      const authorization = { type: 'token', token: 't' } as const;
      server.connections = 0;
      await withSender(
        async ({ send }) => {
          const { status, body, retryAfterSeconds } = await send('{"ä":1}');
          assert.deepEqual([status, body.toString(), retryAfterSeconds], [429, '{"ä":1}', 7]);
          await send('{}');
        },
        { credential: { type: 'stored', authorization } },
      );
      const expected = ['POST', '/a/b?c=d', 'application/json', 'application/json', 'test/1', 'Bearer t'];
      assert.deepEqual(seen, [expected, expected]);
      assert.equal(server.connections, 1);
    });

    for (const text of ['soon', '-1', '1.5', 'Wed, 21 Oct 2026 07:28:00 GMT', '9'.repeat(400)]) {
      it(`Retry-After: ${text.slice(0, 40)} says nothing`, async () => {
        server.handle = (_request, response) => response.writeHead(503, { 'retry-after': text }).end();
        await withSender(async ({ send }) => assert.equal((await send('{}')).retryAfterSeconds, undefined));
      });
    }

    for (const status of [301, 302, 303, 304, 307, 308]) {
      it(`a redirect is an error: ${status}`, async () => {
        let requests = 0;
        server.handle = (_request, response) => {
          requests += 1;
          response.writeHead(status, { location: `https://127.0.0.1:${server.port}/elsewhere` }).end();
        };
        await withSender(async ({ send }) => {
          await assert.rejects(send('{}'), new RegExp(`answered ${status}, a redirect, which is not followed$`));
        });
        assert.equal(requests, 1);
      });
    }

    it('a response that is too large is an error', async () => {
      const closed = Promise.withResolvers<void>();
      server.handle = (_request, response) => {
        response.on('close', closed.resolve).on('drain', write);
        function write(): void {
          while (response.write(Buffer.alloc(limits.webhookAnswerBytesMax / 16)));
        }
        write();
      };
      await withSender(async ({ send }) => {
        await assert.rejects(send('{}'), /answer has more than \d+ bytes$/);
        await within(closed.promise, 'closed: never');
      });
    });

    for (const when of ['before', 'after'] as const) {
      it(`a webhook that is slow ${when} its answer has begun`, async () => {
        const reached = Promise.withResolvers<void>();
        server.handle = (_request, response) => {
          if (when === 'after') response.write('{');
          reached.resolve();
        };
        await withSender(async ({ send }, clock) => {
          const answer = send('{}');
          answer.catch(() => {});
          await within(reached.promise, 'reached: never');
          clock.advance(1_000);
          await assert.rejects(answer, /context deadline exceeded$/);
        });
      });
    }

    for (const [authorization, echoed, shown] of [
      [{ type: 'token', token: 's3cr3t' }, 'Bearer s3cr3t, s3cr3t', 'Bearer ***, ***'],
      [{ type: 'basic', username: 'u', password: 'päss' }, `Basic ${btoa('u:p\xc3\xa4ss')} päss u`, 'Basic *** *** u'],
      [{ type: 'basic', username: 'u', password: '' }, 'u', 'u'],
      [undefined, 'Bearer', 'Bearer'],
    ] as const) {
      it(`an error that repeats the credential does not show it: ${authorization?.type} ${shown}`, async () => {
        server.handle = (_request, response) => response.writeHead(500).end(echoed);
        const credential = { type: 'stored', ...(authorization && { authorization }) } as const;
        await withSender(async ({ send }) => assert.equal((await send('{}')).body.toString(), shown), { credential });
      });
    }

    const traced: readonly (readonly [what: string, handle: Handler, failed: boolean, attributes: object])[] = [
      ['an answer', (_request, response) => void response.end('{}'), false, { 'http.status_code': 200 }],
      ['an error', (_request, response) => void response.writeHead(500).end('{}'), true, { 'http.status_code': 500 }],
      ['no answer', () => server.dropConnections(), true, {}],
    ];
    for (const [what, handle, failed, attributes] of traced) {
      it(`takes a trace on: ${what}`, async () => {
        let parent: unknown;
        server.handle = (request, response) => {
          parent = request.headers['traceparent'];
          handle(request, response);
        };
        await withSender(async ({ send }) => {
          const span = new SpanFixture();
          await send('{}', { signal: new AbortController().signal, span }).catch(() => {});
          assert.equal(parent, 'of HTTP POST');
          const [call] = span.children;
          assert.deepEqual([span.children.length, call?.kind, call?.ends, call?.failed], [1, 'client', 1, failed]);
          const peer = { 'net.peer.name': '127.0.0.1', 'net.peer.port': server.port };
          assert.deepEqual(call?.attributes, { 'http.method': 'POST', ...peer, ...attributes });
        });
      });
    }

    it('ends with the signal', async () => {
      const reached = Promise.withResolvers<void>();
      server.handle = () => reached.resolve();
      await withSender(async ({ send }) => {
        const stop = new AbortController();
        const answer = send('{}', stop);
        await within(reached.promise, 'reached: never');
        stop.abort(new Error('enough'));
        await assert.rejects(answer, /^Error: enough$/);
        await assert.rejects(send('{}', stop), /^Error: enough$/);
      });
    });

    it('is refused if too many are waiting; closing aborts them', async () => {
      let requests = 0;
      const full = Promise.withResolvers<void>();
      server.handle = () => {
        requests += 1;
        if (requests === limits.webhookConnectionsMax) full.resolve();
      };
      server.connections = 0;
      await withSender(async ({ send, close }) => {
        const waiting = Array.from({ length: limits.webhookQuestionsMax }, async () => send('{}'));
        const outcome = Promise.allSettled(waiting);
        await within(full.promise, 'full: never');
        await assert.rejects(send('{}'), /too many questions wait for the webhook$/);
        assert.equal(server.connections, protocol === 'h2' ? 1 : limits.webhookConnectionsMax);
        close();
        assert.ok((await outcome).every(({ status }) => status === 'rejected'));
        await assert.rejects(send('{}'), /the client has been closed$/);
      });
    });

    it('waits for a connection, up to the timeout', async () => {
      const waiting: ServerResponse[] = [];
      const full = Promise.withResolvers<void>();
      server.handle = (_request, response) => {
        waiting.push(response);
        if (waiting.length === limits.webhookConnectionsMax) full.resolve();
        if (waiting.length > limits.webhookConnectionsMax) response.end('{}');
      };
      await withSender(async ({ send }, clock) => {
        const first = Promise.all(Array.from({ length: limits.webhookConnectionsMax }, async () => send('{}')));
        await within(full.promise, 'full: never');
        const stop = new AbortController();
        const [next, aborted] = [send('{}'), send('{}', stop)];
        stop.abort(new Error('enough'));
        await assert.rejects(aborted, /^Error: enough$/);
        for (const response of waiting) response.end('{}');
        await Promise.all([first, next]);
        assert.equal(waiting.length, limits.webhookConnectionsMax + 1);
        const slow = Array.from({ length: limits.webhookConnectionsMax + 1 }, async () => send('{}'));
        server.handle = () => {};
        const outcome = Promise.allSettled(slow);
        clock.advance(1_000);
        for (const each of await outcome) {
          assert.match(String(each.status === 'rejected' && each.reason), /context deadline exceeded$/);
        }
      });
    });

    it('is retried at once if the webhook had closed the connection', async () => {
      let requests = 0;
      server.handle = (_request, response) => {
        requests += 1;
        if (requests === 2) server.dropConnections();
        else response.end('{}');
      };
      await withSender(async ({ send }) => {
        await send('{}');
        assert.equal((await send('{}')).status, 200);
      });
      assert.equal(requests, 3);
    });

    for (const [what, length, cut] of [
      ['is shorter than it said', '2', (response: ServerResponse) => response.destroy()],
      ['loses its connection', undefined, () => server.dropConnections()],
    ] as const) {
      it(`a response that ${what} is an error with a code`, async () => {
        server.handle = (_request, response) => {
          response.writeHead(200, length === undefined ? {} : { 'content-length': length });
          response.write('{');
          setImmediate(() => cut(response));
        };
        await withSender(async ({ send }) => {
          await assert.rejects(send('{}'), ({ code }: NodeJS.ErrnoException) => code === 'ECONNRESET');
        });
      });
    }
  });
}
