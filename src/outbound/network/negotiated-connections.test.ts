import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest } from 'node:http2';
import net, { type AddressInfo, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { once, until, within } from '../../base/waits-fixture.ts';
import type { ConnectOptions, HttpsConnections, OutgoingRequest } from '../network.ts';
import { peerName, TlsFixture } from '../tls-fixture.ts';
import { systemNetwork } from './system-network.ts';

let opened: HttpsConnections[] = [];
let servers: TlsFixture[] = [];
beforeEach(() => {
  [opened, servers] = [[], []];
});
afterEach(async () => {
  for (const connections of opened) connections.close();
  for (const server of servers) await server.close();
});

async function serve(options: ConstructorParameters<typeof TlsFixture>[1] = { protocols: ['http/1.1', 'h2'] }) {
  const server = new TlsFixture(['api.example.com', '127.0.0.1'], options);
  servers.push(server);
  await server.listen();
  return server;
}

function connect(server: TlsFixture, options: Partial<ConnectOptions> = {}): HttpsConnections {
  const { authorities } = server;
  const connections = systemNetwork.connect({ authorities, keepAlive: true, http2: true, ...options });
  opened.push(connections);
  return connections;
}

const requestTo = (port: number, more: Partial<OutgoingRequest> = {}): OutgoingRequest => ({
  ...{ method: 'POST', server: { hostname: '127.0.0.1', port: String(port) }, target: '/t?q=1' },
  ...{ headers: { 'content-type': 'text/plain' }, body: 'x', repeatable: true, ...more },
});

/** Status and body of an answer. */
async function ask(connections: HttpsConnections, port: number, more: Partial<OutgoingRequest> = {}): Promise<string> {
  const { status, body } = await connections.send(requestTo(port, more));
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return `${status} ${Buffer.concat(chunks)}`;
}

/** Answers with the version of HTTP. */
const sayVersion = (request: IncomingMessage, response: ServerResponse): void => {
  request.resume().on('end', () => response.end(request.httpVersion));
};

/** The stream of an HTTP/2 request. */
const streamOf = (request: IncomingMessage) => (request as unknown as Http2ServerRequest).stream;

describe('the protocol is what the server offers', () => {
  for (const [protocols, version, connectionsOfTen] of [
    [['http/1.1', 'h2'], '2.0', 1],
    [['h2'], '2.0', 1],
    [['http/1.1'], '1.1', 10],
  ] as const) {
    it(`${protocols}: ${version}, and all connections are used`, async () => {
      const server = await serve({ protocols });
      server.handle = sayVersion;
      const connections = connect(server);
      for (let n = 0; n < 3; n++) assert.equal(await ask(connections, server.port), `200 ${version}`);
      assert.equal(server.connections, 1, 'one after the other');
      const waiting: (() => void)[] = [];
      server.handle = (request, response) => {
        waiting.push(() => sayVersion(request, response));
        if (waiting.length === 10) for (const go of waiting) go();
      };
      const answers = await Promise.all(Array.from({ length: 10 }, () => ask(connections, server.port)));
      assert.deepEqual(new Set(answers), new Set([`200 ${version}`]));
      assert.equal(server.connections, connectionsOfTen, 'side by side');
    });
    it(`${protocols}: those that come first share the first connection, or have their own`, async () => {
      const server = await serve({ protocols });
      const waiting: ServerResponse[] = [];
      server.handle = (_request, response) => {
        waiting.push(response);
        if (waiting.length === 5) for (const each of waiting) each.end();
      };
      const connections = connect(server);
      await Promise.all(Array.from({ length: 5 }, () => ask(connections, server.port)));
      assert.equal(server.connections, version === '2.0' ? 1 : 5);
    });
  }

  it('HTTP/1.1 where the caller wants no other', async () => {
    const server = await serve();
    server.handle = sayVersion;
    assert.equal(await ask(connect(server, { http2: false }), server.port), '200 1.1');
  });

  it('HTTP/1.1 for a server that answers that it wants it', async () => {
    const server = await serve();
    server.handle = (request, response) => {
      if (request.httpVersion === '1.1') return sayVersion(request, response);
      streamOf(request).close(constants.NGHTTP2_HTTP_1_1_REQUIRED);
    };
    const connections = connect(server);
    for (let n = 0; n < 2; n++) assert.equal(await ask(connections, server.port, { repeatable: false }), '200 1.1');
    assert.equal(server.connections, 2);
  });
});

describe('HTTP/2', () => {
  it('carries method, target, headers and bodies', async () => {
    const server = await serve();
    let seen: unknown;
    server.handle = async (request, response) => {
      const { 'content-type': type, 'impersonate-group': groups } = request.headers;
      seen = [request.method, request.url, type, groups, streamOf(request).sentHeaders];
      response.writeHead(201, { 'retry-after': '3' }).end(await buffer(request));
    };
    const body = Buffer.alloc(3 << 20, 'ä');
    const headers = { 'content-type': 'a/b', 'impersonate-group': ['one', 'two'] };
    const answer = await connect(server).send(requestTo(server.port, { body, headers, method: 'PUT' }));
    const received: Uint8Array[] = [];
    for await (const chunk of answer.body) received.push(chunk);
    assert.deepEqual([answer.status, answer.headers['retry-after']], [201, '3']);
    assert.ok(Buffer.concat(received).equals(body));
    assert.deepEqual((seen as unknown[]).slice(0, 4), ['PUT', '/t?q=1', 'a/b', 'one, two']);
  });

  it('carries many large bodies that the server is slow to read', async () => {
    const server = await serve({ protocols: ['h2'] });
    const waiting: (() => void)[] = [];
    server.handle = (request, response) => {
      waiting.push(async () => response.end(String((await buffer(request)).length)));
      if (waiting.length === 40) for (const go of waiting) go();
    };
    const connections = connect(server);
    const body = Buffer.alloc(1 << 20);
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask(connections, server.port, { body })));
    assert.deepEqual(new Set(answers), new Set([`200 ${body.length}`]));
    assert.equal(server.connections, 1);
  });

  it('waits where the server allows fewer streams', async () => {
    const server = await serve({ protocols: ['h2'], streamsMax: 1 });
    let [now, most] = [0, 0];
    server.handle = (_request, response) => {
      most = Math.max(most, ++now);
      setImmediate(() => {
        now--;
        response.end();
      });
    };
    const connections = connect(server);
    await ask(connections, server.port);
    await Promise.all(Array.from({ length: 20 }, () => ask(connections, server.port)));
    assert.deepEqual([most, server.connections], [1, 1]);
  });

  for (const [what, options, problem] of [
    ['a server that nobody vouches for', { authorities: undefined }, /unable to verify|self.signed/],
    ['a server of another name', { serverName: 'other.example.com' }, /does not match certificate's altnames/],
  ] as const) {
    it(`is not spoken with ${what}`, async () => {
      const server = await serve();
      const { authorities: _, ...rest } = options as { authorities?: undefined; serverName?: string };
      const trust = 'authorities' in options ? {} : { authorities: server.authorities };
      const connections = systemNetwork.connect({ ...trust, ...rest, keepAlive: true, http2: true });
      opened.push(connections);
      await assert.rejects(ask(connections, server.port), problem);
    });
  }

  it('shows a client certificate', async () => {
    const server = await serve({ protocols: ['h2'], certificateRequired: true });
    server.handle = (request, response) => void response.end(peerName(request));
    await assert.rejects(ask(connect(server), server.port));
    assert.equal(await ask(connect(server, { certificate: server.issue('jane') }), server.port), '200 jane');
  });
});

describe('a session that ends', () => {
  it('goes away: what it does is done, and new requests have a new one', async () => {
    const server = await serve();
    const [reached, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    server.handle = async (_request, response) => {
      reached.resolve();
      await gone.promise;
      response.end();
    };
    const connections = connect(server);
    const slow = ask(connections, server.port);
    await within(reached.promise, 'the request');
    for (const session of server.sessions) session.close();
    await until(async () => {
      server.handle = (_request, response) => void response.end();
      await ask(connections, server.port);
      return server.connections > 1;
    }, 'a new connection');
    gone.resolve();
    assert.equal(await slow, '200 ');
  });

  for (const [what, end] of [
    [
      'goes away with an error',
      (request) => void streamOf(request).session?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM),
    ],
    ['is destroyed', (request) => void streamOf(request).session?.destroy()],
    ['loses its connection', (_request, server) => server.dropConnections()],
  ] as const satisfies readonly (readonly [string, (request: IncomingMessage, server: TlsFixture) => void])[]) {
    for (const [repeatable, used, outcome] of [
      [true, true, 'is sent again'],
      [false, true, 'is an error where that could have effects'],
      [true, false, 'is an error on a first connection: the server may end all of them'],
    ] as const) {
      it(`${what}: a request ${outcome}`, async () => {
        const server = await serve();
        let requests = 0;
        server.handle = (request, response) => {
          requests++;
          if (requests === (used ? 2 : 1)) end(request, server);
          else response.end();
        };
        const connections = connect(server);
        if (used) await ask(connections, server.port);
        const answer = ask(connections, server.port, { repeatable });
        if (repeatable && used) assert.equal(await answer, '200 ');
        else await assert.rejects(answer);
        assert.equal(requests, 1 + Number(used) + Number(repeatable && used));
        assert.equal(await ask(connections, server.port), '200 ', 'the next one');
      });
    }
  }

  for (const [times, outcome] of [
    [2, 'is sent again, whatever its effects'],
    [3, 'is an error in the end'],
  ] as const) {
    it(`a request that the server refuses ${times} times ${outcome}`, async () => {
      const server = await serve();
      let requests = 0;
      server.handle = (request, response) => {
        requests++;
        if (requests <= times) streamOf(request).close(constants.NGHTTP2_REFUSED_STREAM);
        else response.end();
      };
      const answer = ask(connect(server), server.port, { repeatable: false });
      if (times === 2) assert.equal(await answer, '200 ');
      else await assert.rejects(answer, /NGHTTP2_REFUSED_STREAM/);
      assert.equal(requests, 3);
    });
  }

  it('a response that is left, or discarded, leaves the session', async () => {
    const server = await serve();
    let closed = 0;
    server.handle = (_request, response) => {
      response.on('close', () => closed++);
      response.write('x');
    };
    const connections = connect(server);
    const left = await connections.send(requestTo(server.port));
    for await (const _ of left.body) break;
    const discarded = await connections.send(requestTo(server.port));
    discarded.discard();
    await until(() => closed === 2, 'both streams end');
    server.handle = sayVersion;
    assert.equal(await ask(connections, server.port), '200 2.0');
    assert.equal(server.connections, 1);
  });

  it('closing aborts requests; retiring lets them end', async () => {
    const server = await serve();
    const waiting: ServerResponse[] = [];
    server.handle = (_request, response) => void waiting.push(response);
    const [closing, retiring] = [connect(server), connect(server)];
    const answers = [ask(closing, server.port), ask(retiring, server.port)];
    const outcomes = Promise.allSettled(answers);
    await until(() => waiting.length === 2, 'both have come');
    closing.close();
    retiring.retire();
    for (const response of waiting) response.end();
    assert.deepEqual(
      (await outcomes).map(({ status }) => status),
      ['rejected', 'fulfilled'],
    );
    await until(async () => (await server.open()) === 0, 'no connection is left');
  });
});

/** Passes bytes on, until it is frozen: as a network that lost the connection, without an end. */
class Freezer {
  readonly #server: net.Server;
  readonly sockets: Socket[] = [];

  constructor(port: number) {
    this.#server = net.createServer((client) => {
      const upstream = net.connect(port, '127.0.0.1');
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        this.sockets.push(from);
        from.pipe(to).on('error', () => {});
        from.on('close', () => to.destroy());
      }
    });
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** Nothing of the connections that are open now arrives any more. */
  freeze(): void {
    for (const socket of this.sockets) socket.unpipe().pause();
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

describe('a server that a request was given up on', () => {
  for (const [what, isGone] of [
    ['is asked on the same connection, if it is there', false],
    ['is asked on a new one, if it is gone, and the old one ends', true],
  ] as const) {
    it(what, async () => {
      const server = await serve();
      const freezer = new Freezer(server.port);
      const port = await freezer.listen();
      try {
        server.handle = sayVersion;
        const connections = connect(server);
        await ask(connections, port);
        const reached = Promise.withResolvers<void>();
        server.handle = () => reached.resolve();
        if (isGone) freezer.freeze();
        const stop = new AbortController();
        const answer = ask(connections, port, { signal: stop.signal });
        answer.catch(() => {});
        if (!isGone) await within(reached.promise, 'the request');
        stop.abort();
        await assert.rejects(answer, { name: 'AbortError' });
        server.handle = sayVersion;
        if (!isGone) {
          // Doubtful until the answer to a ping is there, which takes no time worth the name.
          await until(async () => {
            const before = server.connections;
            await ask(connections, port);
            return server.connections === before;
          }, 'the connection is kept');
          return;
        }
        const [old] = freezer.sockets;
        assert.equal(await ask(connections, port), '200 2.0');
        assert.equal(server.connections, 2);
        // Read, and passed to nobody: that it ends is all that is wanted.
        old?.resume();
        await until(() => old?.destroyed === true, 'the old connection ends');
      } finally {
        await freezer.close();
      }
    });
  }
});

it('a connection that is not made is given up with the last request that waits for it; the next tries anew', async () => {
  let accepted = 0;
  const silent = net.createServer(() => accepted++).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const sockets = new Set<Socket>();
  silent.on('connection', (socket) =>
    sockets.add(
      socket
        .resume()
        .on('error', () => {})
        .on('close', () => sockets.delete(socket)),
    ),
  );
  const { port } = silent.address() as AddressInfo;
  const connections = systemNetwork.connect({ keepAlive: true, http2: true });
  opened.push(connections);
  for (let round = 1; round <= 2; round++) {
    const stops = [new AbortController(), new AbortController()];
    const answers = stops.map(({ signal }) => ask(connections, port, { signal }));
    const outcomes = Promise.allSettled(answers);
    await until(() => accepted === round && sockets.size === 1, 'one connection');
    for (const stop of stops) stop.abort(new Error('enough'));
    for (const each of await outcomes) assert.match(String(each.status === 'rejected' && each.reason), /enough/);
    await until(() => sockets.size === 0, 'it has ended');
  }
  silent.close();
  await once(silent, 'close');
});
