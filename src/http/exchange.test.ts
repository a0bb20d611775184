import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { Agent, request as requestHttps } from 'node:https';
import { after, before, describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { ManualClock } from '../base/time/clock.ts';
import { once, until, within } from '../base/waits-fixture.ts';
import { sendStatus } from '../content/status.ts';
import { StatusError } from '../meta/status-error.ts';
import type { BodyWriter, Exchange } from './exchange.ts';
import { ca, exchangeText, fetch2, type Received, readAll, type Started, start } from './listener-fixture.ts';
import { readToClose } from './socket-fixture.ts';

const clock = new ManualClock(Date.UTC(2026, 0, 1));

/** Handler of the current test. */
let handle: (exchange: Exchange) => void | Promise<void> = () => {};
const errors: unknown[] = [];
const logger = { error: (_: string, fields?: object) => void errors.push(fields), warn() {}, info() {}, debug() {} };

let started: Started;
before(async () => {
  started = await start(
    (exchange) => {
      const running = handle(exchange);
      running?.catch((error) => sendStatus(exchange, error, { clock, logger }));
    },
    { logger },
  );
});
after(() => started[Symbol.asyncDispose]());

interface Client {
  send(
    path: string,
    options?: { method?: string; body?: Uint8Array | string; headers?: Record<string, string | string[]> },
  ): Promise<Received>;
}

const http2: Client = {
  async send(path, options = {}) {
    const session = await started.http2();
    try {
      return await fetch2(session, path, options);
    } finally {
      session.destroy();
    }
  },
};

const http1: Client = {
  async send(path, { method = 'GET', body, headers } = {}) {
    const agent = new Agent({ ca, checkServerIdentity: () => undefined });
    try {
      const request = requestHttps({
        port: started.listener.port,
        host: '127.0.0.1',
        path,
        method,
        agent,
        headers: headers ?? {},
      });
      request.end(body);
      const [response] = await once(request, 'response');
      return { status: response.statusCode, headers: response.headers, body: await readAll(response) };
    } finally {
      agent.destroy();
    }
  },
};

const status = (received: Received) =>
  JSON.parse(received.body.toString()) as { message: string; reason: string; code: number };

for (const [protocol, client] of [
  ['HTTP/2.0', http2],
  ['HTTP/1.1', http1],
] as const) {
  describe(`an exchange over ${protocol}`, () => {
    it('has the request as sent', async () => {
      let seen: Exchange | undefined;
      handle = (exchange) => {
        seen = exchange;
        exchange.respond(200, {});
      };
      await client.send('/a%2Fb/../c?x=1&y', {
        method: 'DELETE',
        headers: { 'x-one': ['a', 'b'], host: 'example.com' },
      });
      assert.ok(seen);
      assert.deepEqual([seen.protocol, seen.method, seen.target], [protocol, 'DELETE', '/a%2Fb/../c?x=1&y']);
      assert.equal(seen.header('x-one'), 'a, b');
      assert.deepEqual(seen.headerLines('x-one'), ['a', 'b']);
      assert.deepEqual(seen.headerLines('x-two'), []);
      assert.equal(seen.header('host'), 'example.com');
      assert.equal(seen.header('x-two'), undefined);
      assert.ok(seen.headerNames().includes('x-one'));
      assert.ok(seen.headerNames().every((name) => !name.startsWith(':')));
      assert.equal(seen.peer.address, '127.0.0.1');
      assert.equal(seen.signal.aborted, false, 'a response that arrived aborts nothing');
    });

    it('is complete once a request with a body is answered, and aborts nothing', async () => {
      const answers: Readonly<Record<string, (exchange: Exchange, body: Buffer) => void>> = {
        small: (exchange, body) => exchange.respond(201, {}, body),
        empty: (exchange) => exchange.respond(204, {}),
        large: (exchange) => exchange.respond(200, {}, Buffer.alloc(1024 * 1024)),
        stream: (exchange) => {
          const writer = exchange.stream(200, {});
          writer.write(Buffer.alloc(1024 * 1024));
          writer.end('the end');
        },
      };
      for (const [name, answer] of Object.entries(answers)) {
        const ended = Promise.withResolvers<Exchange>();
        handle = async (exchange) => {
          exchange.onEnd(() => ended.resolve(exchange));
          answer(exchange, await exchange.body(1_000));
        };
        await client.send('/', { method: 'POST', body: 'an object' });
        assert.equal((await within(ended.promise, 'ended: never')).signal.aborted, false, name);
      }
    });

    it('sends a response whole', async () => {
      handle = (exchange) => {
        exchange.setHeader('x-added', ['1', '2']);
        assert.equal(exchange.responded, false);
        exchange.respond(201, { 'content-type': 'text/plain' }, 'größer');
        assert.equal(exchange.responded, true);
      };
      const received = await client.send('/');
      assert.deepEqual([received.status, received.body.toString()], [201, 'größer']);
      assert.deepEqual([received.headers['content-length'], received.headers['x-added']], ['8', '1, 2']);
      assert.ok(received.headers.date);
    });

    for (const way of ['respond', 'stream'] as const) {
      it(`adds what was warned of to a response: ${way}`, async () => {
        handle = (exchange) => {
          exchange.warn('one');
          exchange.setHeader('x-added', 'two');
          exchange.warn('three');
          if (way === 'respond') exchange.respond(200, {}, 'x');
          else exchange.stream(200, {}).end('x');
        };
        const { headers } = await client.send('/');
        assert.deepEqual([headers.warning, headers['x-added']], ['299 - "one", 299 - "three"', 'two']);
      });
    }

    it('sends a response without a body', async () => {
      handle = (exchange) => exchange.respond(204, {});
      const received = await client.send('/');
      assert.deepEqual(
        [received.status, received.body.length, received.headers['content-length']],
        [204, 0, undefined],
      );
    });

    it('answers HEAD as GET, without the body', async () => {
      handle = (exchange) => exchange.respond(200, {}, 'twelve bytes');
      const whole = await client.send('/', { method: 'HEAD' });
      assert.deepEqual([whole.status, whole.body.length, whole.headers['content-length']], [200, 0, '12']);
      const ended = Promise.withResolvers<void>();
      handle = (exchange) => {
        exchange.onEnd(ended.resolve);
        assert.equal(exchange.stream(200, {}).write('never sent'), true);
      };
      assert.equal((await client.send('/', { method: 'HEAD' })).body.length, 0);
      await within(ended.promise, 'ended: never');
    });

    it('refuses response headers that would break the message', () => {
      handle = (exchange) => {
        for (const value of ['a\r\nb: c', 'a\0', '→']) assert.throws(() => exchange.setHeader('x', value), TypeError);
        exchange.respond(200, {});
      };
      return client.send('/').then((received) => assert.equal(received.status, 200));
    });

    it('streams a response, and reports its end', async () => {
      const ends: number[] = [];
      const ended = Promise.withResolvers<void>();
      handle = (exchange) => {
        exchange.onEnd(() => ends.push(1));
        exchange.onEnd(ended.resolve);
        const writer = exchange.stream(200, {});
        writer.write('one ');
        writer.write(Buffer.from('two '));
        writer.end('three');
        writer.write('four');
        writer.end('five');
      };
      assert.equal((await client.send('/')).body.toString(), 'one two three');
      await within(ended.promise, 'ended: never');
      assert.deepEqual(ends, [1]);
    });

    it('makes a truncated response visible as such', async () => {
      handle = (exchange) => {
        const writer = exchange.stream(200, {});
        writer.write('half');
        setImmediate(() => writer.abort());
      };
      await assert.rejects(client.send('/'));
    });

    it('reads a body', async () => {
      handle = async (exchange) => {
        const body = await exchange.body(1_000_000);
        assert.equal(await exchange.body(1), body, 'it is read once');
        exchange.respond(200, {}, body);
      };
      const body = Buffer.alloc(1_000_000, 'abc');
      assert.deepEqual((await client.send('/', { method: 'POST', body })).body, body);
      assert.equal((await client.send('/', { method: 'POST' })).body.length, 0);
    });

    for (const [what, headers] of [
      ['that says its length', { 'content-length': '200000' }],
      ['that does not', {}],
    ] as const) {
      it(`refuses a body ${what} and is too long`, async () => {
        handle = async (exchange) => exchange.respond(200, {}, await exchange.body(1_000));
        const received = await client.send('/', { method: 'POST', body: Buffer.alloc(200_000), headers });
        assert.equal(received.status, 413);
        assert.equal(status(received).message, 'Request entity too large: limit is 1000');
      });
    }

    it('refuses a body in another encoding', async () => {
      handle = async (exchange) => exchange.respond(200, {}, await exchange.body(1_000));
      const received = await client.send('/', { method: 'POST', body: 'x', headers: { 'content-encoding': 'gzip' } });
      assert.deepEqual([received.status, status(received).reason], [415, 'UnsupportedMediaType']);
      const plain = await client.send('/', { method: 'POST', body: 'x', headers: { 'content-encoding': 'identity' } });
      assert.equal(plain.status, 200);
    });

    it('can be answered without reading the body', async () => {
      handle = (exchange) => exchange.respond(403, {}, 'no');
      for (const length of [10, 200_000, 3_000_000]) {
        assert.equal((await client.send('/', { method: 'POST', body: Buffer.alloc(length) })).status, 403);
      }
    });

    it('does not reveal internal errors', async () => {
      errors.length = 0;
      handle = () => {
        throw new Error('secret');
      };
      const received = await client.send('/x?token=hidden');
      assert.deepEqual([received.status, status(received).reason], [500, 'InternalError']);
      assert.ok(!received.body.includes('secret'));
      assert.match(String((errors[0] as { error: Error }).error), /secret/);
      assert.ok(!JSON.stringify(errors).includes('hidden'));
    });

    it('refuses a target that is too long', async () => {
      handle = () => assert.fail('must not be handled');
      assert.equal((await client.send(`/${'a'.repeat(limits.targetBytesMax)}`)).status, 414);
    });
  });
}

describe('a client that goes away', () => {
  const leave = {
    'HTTP/2.0': async (body?: string) => {
      const session = await started.http2();
      const stream = session.request({ ':path': '/', ':method': body ? 'POST' : 'GET' }, { endStream: !body });
      stream.on('error', () => {});
      if (body) stream.write(body);
      return () => stream.destroy(new Error('gone'));
    },
    'HTTP/1.1': async (body?: string) => {
      const socket = await started.tls();
      socket.write(
        body ? `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n${body}` : 'GET / HTTP/1.1\r\nhost: a\r\n\r\n',
      );
      return () => socket.destroy();
    },
  };

  for (const protocol of ['HTTP/2.0', 'HTTP/1.1'] as const) {
    it(`aborts the signal, ${protocol}`, async () => {
      const aborted = Promise.withResolvers<unknown>();
      const late = Promise.withResolvers<boolean>();
      handle = (exchange) => {
        exchange.signal.addEventListener('abort', () => aborted.resolve(exchange.signal.reason));
        go();
      };
      let go = await leave[protocol]();
      assert.equal(((await within(aborted.promise, 'aborted: never')) as Error).name, 'ClientGone');
      handle = (exchange) => {
        exchange.onEnd(() => late.resolve(exchange.signal.aborted));
        go();
      };
      go = await leave[protocol]();
      assert.equal(await within(late.promise, 'late: never'), true, 'also when nobody asked for it before');
    });

    it(`ends the body as a bad request, ${protocol}`, async () => {
      const outcome = Promise.withResolvers<unknown>();
      handle = (exchange) => {
        exchange.body(1_000).catch(outcome.resolve);
        setImmediate(() => go());
      };
      const go = await leave[protocol]('part of it');
      assert.equal(((await within(outcome.promise, 'outcome: never')) as StatusError).reason, 'BadRequest');
    });

    it(`is written to in vain, ${protocol}`, async () => {
      const done = Promise.withResolvers<void>();
      handle = async (exchange) => {
        const writer = exchange.stream(200, {});
        await until(() => !writer.write(Buffer.alloc(64 * 1024)));
        const waiting = writer.drained();
        go();
        await waiting;
        await until(() => exchange.signal.aborted);
        assert.equal(writer.write('x'), true);
        await writer.drained();
        writer.end();
        done.resolve();
      };
      const go = await leave[protocol]();
      await within(done.promise, 'done: never');
    });
  }

  it('is noticed after its body was refused, HTTP/2', async () => {
    await using own = await start((exchange) => {
      exchange.body(50_000).catch((error) => sendStatus(exchange, error, { clock, logger }));
    });
    for (let round = 0; round < 20; round += 1) {
      const session = await own.http2();
      const stream = session.request({ ':path': '/', ':method': 'POST' }, { endStream: false });
      stream.on('error', () => {});
      stream.end(Buffer.alloc(90_000));
      for (let turn = 0; turn < round; turn += 1) await new Promise(setImmediate);
      session.destroy();
    }
    await until(() => own.listener.connections === 0);
  });

  it('ends all its pipelined requests, HTTP/1.1', async () => {
    const held: Exchange[] = [];
    let ended = 0;
    handle = (exchange) => {
      exchange.onEnd(() => {
        ended += 1;
      });
      held.push(exchange);
    };
    const socket = await started.tls();
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(3));
    await until(() => held.length === 3);
    for (const exchange of held.slice(1)) exchange.respond(200, {}, 'waits for the first');
    socket.destroy();
    await until(() => ended === 3);
    assert.ok(held.every((exchange) => exchange.signal.aborted));
  });

  it('is noticed while its body is not read, HTTP/1.1', async () => {
    const ended = Promise.withResolvers<void>();
    handle = (exchange) => {
      exchange.onEnd(ended.resolve);
      exchange.stream(200, {});
    };
    const socket = await started.tls();
    socket.write(`GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 300000\r\n\r\n${'x'.repeat(200_000)}`);
    await once(socket, 'data');
    socket.destroy();
    await within(ended.promise, 'ended: never');
  });

  it('can be answered although the deadline passed while it sent its body', async () => {
    for (const protocol of ['HTTP/2.0', 'HTTP/1.1'] as const) {
      const ended = Promise.withResolvers<void>();
      handle = async (exchange) => {
        exchange.onEnd(ended.resolve);
        setImmediate(() => exchange.abort(new StatusError('Timeout', 'too slow')));
        await exchange.body(1_000);
      };
      if (protocol === 'HTTP/1.1') {
        const socket = await started.tls();
        socket.write('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n');
        const [answer] = await once(socket, 'data');
        assert.match(answer.toString(), /^HTTP\/1.1 504 .*connection: close.*too slow/s);
        socket.destroy();
      } else {
        const stream = (await started.http2()).request({ ':path': '/', ':method': 'POST' }, { endStream: false });
        stream.write('part');
        const [headers] = await once(stream, 'response');
        assert.equal(headers[':status'], 504);
        assert.match((await readAll(stream)).toString(), /too slow/);
      }
      await within(ended.promise, 'ended: never');
    }
  });
});

describe('back-pressure', () => {
  it('is visible in the buffered bytes', async () => {
    const writers: BodyWriter[] = [];
    handle = (exchange) => void writers.push(exchange.stream(200, {}));
    const stream = (await started.http2()).request({ ':path': '/' });
    await once(stream, 'response');
    const [writer] = writers;
    assert.ok(writer);
    let sent = 0;
    const chunk = Buffer.alloc(32 * 1024);
    const done = () => {
      sent += 1;
    };
    let written = 0;
    while (writer.write(chunk, done)) {
      written += 1;
      await new Promise(setImmediate);
      assert.ok(written < 1_000, 'the client does not read: the buffer must fill');
    }
    assert.ok(writer.buffered > 0);
    const drained = writer.drained();
    stream.resume();
    await drained;
    assert.equal(writer.buffered, 0);
    assert.equal(sent, written + 1);
    writer.end();
    await once(stream, 'close');
  });
});

describe('HTTP/1.1 by hand', () => {
  const lines = (...text: string[]) => `${text.join('\r\n')}\r\n\r\n`;
  const never = () => assert.fail('must not be handled');
  const echo = async (exchange: Exchange) =>
    exchange.respond(
      200,
      { 'content-type': 'text/plain' },
      `${exchange.method} ${exchange.target} ${await exchange.body(100)}`,
    );

  const refused: readonly (readonly [what: string, text: string, status: number])[] = [
    ['two lengths', lines('POST / HTTP/1.1', 'host: a', 'content-length: 1', 'content-length: 2'), 400],
    [
      'a length and chunks',
      lines('POST / HTTP/1.1', 'host: a', 'content-length: 1', 'transfer-encoding: chunked'),
      400,
    ],
    ['a coding after chunked', lines('POST / HTTP/1.1', 'host: a', 'transfer-encoding: chunked, gzip'), 400],
    ['a blank before the colon', lines('GET / HTTP/1.1', 'host : a'), 400],
    ['no host', lines('GET / HTTP/1.1', 'x: y'), 400],
    ['a bare line feed', 'GET / HTTP/1.1\nhost: a\n\n', 400],
    ['something else than HTTP', '\x00\x01\x02 nonsense\r\n\r\n', 400],
    ['headers that are too long', lines('GET / HTTP/1.1', 'host: a', `x: ${'y'.repeat(limits.headerBytesMax)}`), 431],
    ['CONNECT', lines('CONNECT host:1 HTTP/1.1', 'host: host:1'), 405],
  ];
  for (const [what, text, status] of refused) {
    it(`refuses ${what}`, async () => {
      handle = never;
      assert.match(await exchangeText(await started.tls(), text), new RegExp(`^HTTP/1.1 ${status} `));
    });
  }

  it('never upgrades (CVE-2018-1002105)', async () => {
    handle = echo;
    const text = lines(
      'GET /x HTTP/1.1',
      'host: a',
      'connection: upgrade',
      'upgrade: websocket',
      'sec-websocket-key: eA==',
    );
    const socket = await started.tls();
    socket.write(text);
    const [answer] = await once(socket, 'data');
    assert.match(answer.toString(), /^HTTP\/1.1 200 .*GET \/x/s);
    socket.destroy();
  });

  it('accepts the absolute form of a target', async () => {
    handle = echo;
    const answer = await exchangeText(
      await started.tls(),
      lines('GET https://other/x?y HTTP/1.1', 'host: a', 'connection: close'),
    );
    assert.match(answer, /GET \/x\?y/);
  });

  it('sends 100 Continue only when the body is read', async () => {
    const post = lines('POST / HTTP/1.1', 'host: a', 'content-length: 3', 'expect: 100-continue');
    handle = echo;
    const socket = await started.tls();
    socket.write(post);
    const [first] = await once(socket, 'data');
    assert.match(first.toString(), /^HTTP\/1.1 100 Continue/);
    socket.write('abc');
    const [answer] = await once(socket, 'data');
    assert.match(answer.toString(), /POST \/ abc/);
    socket.destroy();
    handle = (exchange) => exchange.respond(403, {});
    const other = await started.tls();
    other.write(post);
    const [denied] = await once(other, 'data');
    assert.match(denied.toString(), /^HTTP\/1.1 403 /);
    other.destroy();
  });

  it('keeps the connection after a body that was not read', async () => {
    handle = (exchange) => exchange.respond(403, {}, 'no');
    const socket = await started.tls();
    for (let round = 0; round < 3; round += 1) {
      socket.write(`${lines('POST / HTTP/1.1', 'host: a', 'content-length: 3')}abc`);
      const [answer] = await once(socket, 'data');
      assert.match(answer.toString(), /^HTTP\/1.1 403 /);
    }
    socket.destroy();
  });

  it('answers before the end of a body that is too long, then closes', async () => {
    handle = async (exchange) => exchange.respond(200, {}, await exchange.body(1_000));
    const socket = await started.tls();
    const all = readToClose(socket);
    socket.write(lines('POST / HTTP/1.1', 'host: a', 'transfer-encoding: chunked'));
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    let written = 0;
    while (socket.writable && written < 1_000) {
      socket.write(chunk);
      written += 1;
      await new Promise(setImmediate);
    }
    assert.match(await all, /^HTTP\/1.1 413 .*connection: close.*limit is 1000/s);
    assert.ok(written < 1_000, 'the server must stop reading');
  });
});

describe('HTTP/2 by hand', () => {
  it('sends 100 Continue', async () => {
    handle = async (exchange) => exchange.respond(200, {}, await exchange.body(10));
    const stream = (await started.http2()).request(
      { ':path': '/', ':method': 'POST', expect: '100-continue' },
      { endStream: false },
    );
    await once(stream, 'continue');
    stream.end('abc');
    assert.equal((await readAll(stream)).toString(), 'abc');
  });

  it('refuses CONNECT', async () => {
    handle = () => assert.fail('must not be handled');
    const stream = (await started.http2()).request({ ':method': 'CONNECT', ':authority': 'host:1' });
    const [headers] = await once(stream, 'response');
    assert.equal(headers[':status'], 405);
    stream.close();
  });

  it('closes the stream of a body that was refused', async () => {
    handle = async (exchange) => exchange.respond(200, {}, await exchange.body(1_000));
    const stream = (await started.http2()).request({ ':path': '/', ':method': 'POST' }, { endStream: false });
    stream.write(Buffer.alloc(2_000));
    const [headers] = await once(stream, 'response');
    assert.equal(headers[':status'], 413);
    stream.resume();
    await once(stream, 'close');
    assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  });
});
