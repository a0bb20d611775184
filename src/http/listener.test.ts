import assert from 'node:assert/strict';
import type { X509Certificate } from 'node:crypto';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { silentLogger } from '../base/logger.ts';
import { type Clock, ManualClock, systemClock } from '../base/time/clock.ts';
import { once, until, within } from '../base/waits-fixture.ts';
import { StatusError } from '../meta/status-error.ts';
import type { Exchange, Peer } from './exchange.ts';
import { RawClient } from './h2/raw-client-fixture.ts';
import { getFrame } from './h2/session-fixture.ts';
import { listen } from './listener.ts';
import {
  ca,
  clientPair,
  exchangeText,
  fetch2,
  readAll,
  type Started,
  serving,
  sessionOf,
  start,
  strangerPair,
} from './listener-fixture.ts';
import { readToClose } from './socket-fixture.ts';

const ok = (exchange: Exchange): void => exchange.respond(200, {}, 'ok');
const get = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';

async function alive(started: Started): Promise<void> {
  const session = await started.http2();
  assert.equal((await fetch2(session, '/')).status, 200);
  session.destroy();
}

describe('a client certificate', () => {
  const cases: readonly (readonly [what: string, pair: object, subject: string | undefined, error: boolean])[] = [
    ['that is trusted is the peer', clientPair, 'CN=alice', false],
    ['of another authority is an error, not the peer', strangerPair, undefined, true],
    ['that is missing is neither', {}, undefined, false],
  ];
  for (const [what, pair, subject, error] of cases) {
    it(what, async () => {
      const peers: Peer[] = [];
      await using started = await start(
        (exchange) => {
          peers.push(exchange.peer);
          ok(exchange);
        },
        { ca },
      );
      const session = await started.http2(pair);
      await fetch2(session, '/');
      await fetch2(session, '/');
      const socket = await started.tls(pair);
      await exchangeText(socket, get.replace('host', 'connection: close\r\nhost'));
      assert.equal(peers.length, 3);
      assert.equal(peers[0], peers[1], 'one object for a connection');
      for (const peer of peers) {
        assert.equal(peer.certificate?.subject, subject);
        assert.equal(peer.certificateError !== undefined, error);
      }
    });
  }

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    it(`is shown and verified anew by each connection (${version})`, async () => {
      const seen: (X509Certificate | undefined)[] = [];
      await using started = await start(
        (exchange) => {
          seen.push(exchange.peer.certificate);
          ok(exchange);
        },
        { ca },
      );
      for (const pair of [clientPair, strangerPair, {}]) {
        const options = { ...pair, minVersion: version, maxVersion: version };
        const first = await started.tls(options);
        const ticket = sessionOf(first);
        await exchangeText(first, get.replace('host', 'connection: close\r\nhost'));
        const session = await ticket;
        assert.ok(session.length > 0);
        const second = await started.tls({ ...options, session });
        assert.equal(second.isSessionReused(), false);
        await exchangeText(second, get.replace('host', 'connection: close\r\nhost'));
      }
      const subjects = seen.map((certificate) => certificate?.subject);
      assert.deepEqual(subjects, ['CN=alice', 'CN=alice', undefined, undefined, undefined, undefined]);
    });
  }

  it('that was rejected may be accepted after a reload: the client is asked to reconnect', async () => {
    await using started = await start(ok, { ca });
    const [good, none] = [await started.http2(clientPair), await started.http2()];
    const bad = await started.http2(strangerPair);
    const bad1 = await started.tls(strangerPair);
    await until(() => started.listener.connections === 4);
    bad1.resume();
    const gone = [once(bad, 'close'), once(bad1, 'close')];
    started.listener.setTls({ ...serving, ca: [ca, strangerPair.cert] });
    await Promise.all(gone);
    for (const session of [good, none]) assert.equal((await fetch2(session, '/')).status, 200);
  });

  it('is not requested without CAs', async () => {
    let peer: Peer | undefined;
    await using started = await start((exchange) => {
      peer = exchange.peer;
      ok(exchange);
    });
    await fetch2(await started.http2(clientPair), '/');
    assert.deepEqual([peer?.certificate, peer?.certificateError], [undefined, undefined]);
  });
});

describe('TLS', () => {
  it('serves the new certificate after a reload, and trusts the new CAs', async () => {
    const subjects: (string | undefined)[] = [];
    await using started = await start(
      (exchange) => {
        subjects.push(exchange.peer.certificate?.subject);
        ok(exchange);
      },
      { ca },
    );
    const old = await started.tls(clientPair);
    started.listener.setTls({ ...clientPair, ca: [strangerPair.cert] });
    const fresh = await started.tls({ ...clientPair, checkServerIdentity: () => undefined, rejectUnauthorized: false });
    assert.equal(old.getPeerX509Certificate()?.subject, 'CN=server');
    assert.equal(fresh.getPeerX509Certificate()?.subject, 'CN=alice');
    for (const socket of [old, fresh]) await exchangeText(socket, get.replace('host', 'connection: close\r\nhost'));
    assert.deepEqual(subjects, ['CN=alice', undefined]);
    assert.throws(() => started.listener.setTls(serving), TypeError);
    assert.throws(() => started.listener.setTls({ cert: 'nonsense', key: 'nonsense', ca }));
    await started.tls({ rejectUnauthorized: false });
  });

  it('1.1 is refused', async () => {
    await using started = await start(ok);
    await assert.rejects(started.tls({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' }));
    await alive(started);
  });

  it('survives garbage, plain HTTP and a silent client', async () => {
    await using started = await start(ok, { limits: { handshakeMsMax: 100 } });
    for (const text of [get, Buffer.alloc(20_000, 0xff), '']) {
      const socket = connect(started.listener.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(text);
      socket.resume();
      await once(socket, 'close');
    }
    await alive(started);
    assert.equal(started.listener.connections <= 1, true);
  });

  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT']) {
    it(`tells a client that sends ${method} without it what is wrong`, async () => {
      await using started = await start(() => assert.fail('handled'));
      const socket = connect(started.listener.port, '127.0.0.1');
      socket.write(`${method} /api HTTP/1.1\r\nhost: a\r\n\r\n`);
      const answer = (await readAll(socket)).toString();
      assert.equal(answer, 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n');
      assert.equal(started.listener.connections, 0);
    });
  }

  it('fails to open a port that is taken', async () => {
    await using started = await start(ok);
    const { port } = started.listener;
    const options = {
      tls: serving,
      address: '127.0.0.1',
      port,
      handle: ok,
      refuse() {},
      clock: new ManualClock(),
      logger: silentLogger,
    };
    await assert.rejects(listen(options), { code: 'EADDRINUSE' });
  });
});

describe('abuse', () => {
  it('by resetting streams ends the connection (CVE-2023-44487)', async () => {
    let handled = 0;
    await using started = await start(
      (exchange) => {
        handled += 1;
        exchange.onEnd(() => {});
      },
      { limits: { streamResetsPerSecondMax: 50 } },
    );
    const session = await started.http2();
    const closed = new Promise<void>((resolve) => session.once('close', resolve));
    for (let sent = 0; sent < 5_000 && !session.destroyed && !session.closed; sent += 1) {
      const stream = session.request({ ':path': '/' });
      stream.on('error', () => {});
      await new Promise(setImmediate);
      stream.destroy(new Error('reset'));
    }
    await closed;
    assert.ok(handled < 1_000, `${handled} requests were handled`);
  });

  it('by more streams than allowed is refused', async () => {
    const held: Exchange[] = [];
    await using started = await start((exchange) => void held.push(exchange), {
      limits: { streamsPerConnectionMax: 3 },
    });
    const session = await started.http2();
    assert.equal(session.remoteSettings.maxConcurrentStreams, 3);
    for (let sent = 0; sent < 10; sent += 1) session.request({ ':path': '/' }).on('error', () => {});
    await until(() => held.length === 3);
    for (const exchange of held.splice(0)) ok(exchange);
    await until(() => held.length > 0);
    assert.ok(held.length <= 3);
  });

  it('by large headers is refused', async () => {
    await using started = await start(ok);
    const session = await started.http2();
    const stream = session.request({ ':path': '/', 'x-large': 'y'.repeat(limits.headerBytesMax + 1) });
    await assert.rejects(once(stream, 'response'));
    await alive(started);
  });

  it('by sending headers slowly ends the connection', async () => {
    await using started = await start(ok, { limits: { headersMsMax: 100 } });
    const socket = await started.tls();
    assert.match(await exchangeText(socket, 'GET / HTTP/1.1\r\nhost: a\r\nx:'), /^HTTP\/1.1 408 /);
  });

  it('by sending a body slowly ends the connection', async () => {
    await using started = await start((exchange) => void exchange.body(100).catch(() => {}), {
      limits: { headersMsMax: 100, requestMsMax: 200 },
    });
    const socket = await started.tls();
    await exchangeText(socket, 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nx');
  });

  it('by holding an idle connection ends it', async () => {
    const clock = new ManualClock();
    await using started = await start(ok, { clock, limits: { headersMsMax: 1_000, idleMsMax: 10_000 } });
    const silent = (await started.tls({ ALPNProtocols: ['h2'] })).resume();
    // A client may connect ahead of use.
    const unused = await started.http2();
    await new Promise((resolve) => unused.ping(resolve));
    const used = await started.http2();
    await fetch2(used, '/');
    const ends = [silent, unused, used].map((each) => once(each, 'close'));
    await until(() => started.listener.connections === 3);
    clock.advance(3_000);
    await ends[0];
    assert.deepEqual([unused.closed, used.closed], [false, false]);
    await fetch2(used, '/');
    clock.advance(6_000);
    assert.deepEqual([unused.closed, used.closed], [false, false]);
    clock.advance(6_000);
    await Promise.all(ends);
    await until(() => started.listener.connections === 0);
  });

  it('by not reading a response ends it, but not the stream of a watch', async () => {
    const clock = new ManualClock();
    const ends: string[] = [];
    await using started = await start(
      (exchange) => {
        exchange.onEnd(() => ends.push(exchange.target));
        if (exchange.target === '/watch') exchange.stream(200, {}).write('event');
        else exchange.respond(200, {}, Buffer.alloc(1_000_000));
      },
      { clock, limits: { headersMsMax: 1_000, idleMsMax: 10_000, requestMsMax: 5_000 } },
    );
    const session = await started.http2();
    for (const path of ['/watch', '/large']) {
      const stream = session.request({ ':path': path });
      stream.on('error', () => {});
      await once(stream, 'response');
    }
    clock.advance(4_000);
    assert.deepEqual(ends, []);
    clock.advance(3_000);
    await until(() => ends.length > 0);
    clock.advance(100_000);
    assert.deepEqual(ends, ['/large']);
  });

  it('by invalid frames ends the connection', async () => {
    await using started = await start(ok);
    const socket = await started.tls({ ALPNProtocols: ['h2'] });
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(Buffer.alloc(10_000, 0xee));
    await readToClose(socket);
    const other = await started.tls({ ALPNProtocols: ['h2'] });
    await exchangeText(other, get);
    await alive(started);
  });

  it('by pings ends the connection', async () => {
    // The clock stands still: all pings fall within one second.
    await using started = await start(ok, { clock: new ManualClock() });
    const socket = await started.tls({ ALPNProtocols: ['h2'] });
    socket.resume();
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(Buffer.from('000000040000000000', 'hex'));
    const ping = Buffer.from('0000080600000000000000000000000000', 'hex');
    let sent = 0;
    await until(() => {
      socket.write(Buffer.concat(Array(50).fill(ping)));
      sent += 50;
      return socket.destroyed || sent > 20 * limits.controlFramesPerSecondMax;
    });
    assert.ok(socket.destroyed, `${sent} pings were taken`);
    await alive(started);
  });
});

describe('drain', () => {
  interface Held {
    readonly path: string;
    readonly exchange: Exchange;
  }
  async function holding(clock: Clock = systemClock) {
    const held: Held[] = [];
    const started = await start(
      (exchange) => {
        if (exchange.target === '/now') ok(exchange);
        else held.push({ path: exchange.target, exchange });
      },
      { clock },
    );
    return { started, held };
  }

  it('lets requests finish, and closes idle connections', async () => {
    const { started, held } = await holding();
    await using _ = started;
    const idle2 = await started.http2();
    await fetch2(idle2, '/now');
    const idle1 = await started.tls();
    idle1.write(get.replace('/ ', '/now '));
    await once(idle1, 'data');
    const session = await started.http2();
    const busy2 = fetch2(session, '/held2');
    const busy1 = await started.tls();
    const answer = exchangeText(busy1, get.replace('/ ', '/held1 '));
    await until(() => held.length === 2);
    const gone = [once(idle2, 'close'), once(idle1, 'close'), once(session, 'goaway')];
    idle1.resume();
    const drained = started.listener.drain(60_000);
    await Promise.all(gone);
    await until(() => started.listener.connections === 2);
    for (const { exchange } of held) {
      assert.equal(exchange.signal.aborted, false);
      exchange.respond(200, {}, 'finished');
    }
    assert.equal((await busy2).body.toString(), 'finished');
    assert.match(await answer, /connection: close.*finished/s);
    await drained;
    assert.equal(started.listener.connections, 0);
    await assert.rejects(started.tls());
  });

  it('lets a response that has begun finish', async () => {
    const { started, held } = await holding();
    await using _ = started;
    const stream = (await started.http2()).request({ ':path': '/held' });
    await until(() => held.length === 1);
    const writer = held[0]?.exchange.stream(200, {});
    await once(stream, 'response');
    const drained = started.listener.drain(60_000);
    writer?.write('one ');
    setImmediate(() => writer?.end('two'));
    assert.equal((await readAll(stream)).toString(), 'one two');
    await drained;
  });

  it('cuts off requests that do not finish in time', async () => {
    const { started, held } = await holding();
    await using _ = started;
    const cut = fetch2(await started.http2(), '/held').then(
      () => 'answered',
      () => 'cut off',
    );
    const half = connect(started.listener.port, '127.0.0.1').on('error', () => {});
    await once(half, 'connect');
    await until(() => held.length === 1);
    await started.listener.drain(20);
    assert.equal(await cut, 'cut off');
    const reason = held[0]?.exchange.signal.reason;
    assert.ok(reason instanceof StatusError && reason.reason === 'ServiceUnavailable');
    half.destroy();
  });

  it('leaves nothing open', async () => {
    const kinds = ['TCPServerWrap', 'TCPSocketWrap'];
    const open = () => process.getActiveResourcesInfo().filter((kind) => kinds.includes(kind));
    await until(() => open().length === 0);
    const { started } = await holding();
    await fetch2(await started.http2(), '/now');
    assert.ok(open().length > 0);
    await started[Symbol.asyncDispose]();
    await until(() => open().length === 0);
  });

  it('is idempotent and leaves no timer', async () => {
    const clock = new ManualClock();
    const { started, held } = await holding(clock);
    await using _ = started;
    const socket = await started.tls({ ALPNProtocols: ['h2'] });
    const client = new RawClient(socket).open().send(getFrame(1));
    await until(() => held.length === 1);
    const drained = started.listener.drain(60_000);
    await client.until(() => client.goaways.length === 2);
    const again = started.listener.drain(60_000);
    started.listener.stopAccepting();
    await client.pinged();
    assert.equal(client.goaways.length, 2);
    assert.equal(held[0]?.exchange.signal.aborted, false);
    held[0]?.exchange.respond(200, {}, 'finished');
    assert.equal((await client.whole(1)).body.toString(), 'finished');
    await within(Promise.all([drained, again]), 'it is not drained');
    started.listener.close();
    started.listener.stopAccepting();
    await within(started.listener.drain(60_000), 'it is not drained again');
    assert.equal(clock.pending, 0);
  });
});
