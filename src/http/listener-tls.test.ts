import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConnectionOptions } from 'node:tls';
import { once, until } from '../base/waits-fixture.ts';
import { makeCertificate } from '../pki/certificate-fixture.ts';
import type { Exchange } from './exchange.ts';
import { ca, clientPair, exchangeText, fetch2, type Started, start } from './listener-fixture.ts';
import type { NamedCertificate } from './named-certificates.ts';

const ok = (exchange: Exchange): void => exchange.respond(200, {}, exchange.peer.certificate?.subject ?? 'nobody');

describe('certificates by name', () => {
  const named = (name: string, names: readonly string[], given = true): NamedCertificate => {
    const { cert, key } = makeCertificate({ name });
    return { cert, key, names, given };
  };
  const certificates = [
    named('of itself', ['a.example.com', 'b.example.com', '*.example.com'], false),
    named('star', ['*.example.com', '*.example.net']),
    named('first', ['a.example.com', 'both.example.org']),
    named('second', ['c.example.com', 'both.example.org', 'a.example.com']),
  ];

  /** The common name of the certificate served to a client that requests that name. */
  async function shown(
    started: Started,
    servername: string,
    more: ConnectionOptions = {},
  ): Promise<string | undefined> {
    const socket = await started.tls({ servername, rejectUnauthorized: false, ...more });
    const subject = socket.getPeerX509Certificate()?.subject.replace('CN=', '');
    socket.destroy();
    return subject;
  }

  for (const [name, expected] of [
    ['a.example.com', 'first'],
    ['A.Example.COM', 'first'],
    ['b.example.com', 'of itself'],
    ['c.example.com', 'second'],
    ['d.example.com', 'star'],
    ['d.example.net', 'star'],
    ['both.example.org', 'first'],
    ['x.d.example.com', 'server'],
    ['example.com', 'server'],
    ['localhost', 'server'],
    ['', 'server'],
  ] as const) {
    it(`${name === '' ? 'no name' : name}: ${expected}`, async () => {
      await using started = await start(ok, { tls: { named: certificates } });
      assert.equal(await shown(started, name), expected);
    });
  }

  it('are served over either protocol, with client certificates verified as usual', async () => {
    await using started = await start(ok, { ca, tls: { named: certificates } });
    const as = { ...clientPair, servername: 'c.example.com', rejectUnauthorized: false };
    const text = await exchangeText(await started.tls(as), 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
    assert.match(text, /CN=alice$/);
    assert.equal((await fetch2(await started.http2(as), '/')).body.toString(), 'CN=alice');
  });

  it('can be replaced', async () => {
    await using started = await start(ok, { tls: { named: certificates } });
    const { cert, key } = makeCertificate({ name: 'main' });
    started.listener.setTls({ cert, key, named: [named('new', ['c.example.com'])] });
    assert.equal(await shown(started, 'c.example.com'), 'new');
    assert.equal(await shown(started, 'a.example.com'), 'main');
    assert.throws(() => started.listener.setTls({ cert, key, named: [{ ...named('', ['x']), cert: 'nonsense' }] }));
    assert.equal(await shown(started, 'c.example.com'), 'new');
  });

  it('use the configured versions and ciphers', async () => {
    const tls = { named: certificates, minVersion: 'TLSv1.3' } as const;
    await using started = await start(ok, { tls });
    await assert.rejects(shown(started, 'c.example.com', { maxVersion: 'TLSv1.2' }));
  });
});

describe('versions and cipher suites', () => {
  it('below the minimum are refused', async () => {
    await using started = await start(ok, { tls: { minVersion: 'TLSv1.3' } });
    await assert.rejects(started.tls({ maxVersion: 'TLSv1.2' }));
    assert.equal((await started.tls()).getProtocol(), 'TLSv1.3');
  });

  it('are the configured ones, and all of TLS 1.3', async () => {
    const chosen = 'ECDHE-ECDSA-AES256-GCM-SHA384';
    await using started = await start(ok, { tls: { ciphers: `TLS_AES_128_GCM_SHA256:${chosen}` } });
    const options = { maxVersion: 'TLSv1.2' } as const;
    assert.equal((await started.tls(options)).getCipher().name, chosen);
    await assert.rejects(started.tls({ ...options, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }));
    assert.equal((await started.tls()).getProtocol(), 'TLSv1.3');
  });
});

describe('going away', () => {
  /** Random bytes with the lowest value in every `every`-th case, and the highest otherwise. */
  const random = (every: number) => {
    let asked = 0;
    return {
      uuid: () => '',
      bytes: (count: number) => new Uint8Array(count).fill(asked++ % every === every - 1 ? 0 : 255),
    };
  };

  it('happens with the configured chance to HTTP/2 requests, which are answered', async () => {
    await using started = await start(ok, { goaway: { chance: 0.001, random: random(3) } });
    const session = await started.http2();
    const gone = once(session, 'goaway');
    for (let n = 0; n < 3; n++) assert.equal((await fetch2(session, '/')).status, 200);
    assert.equal((await gone)[0], 0);
    await until(() => session.closed);
  });

  it('leaves requests in progress alone', async () => {
    const held: Exchange[] = [];
    const handle = (exchange: Exchange): void =>
      exchange.target === '/held' ? void held.push(exchange) : ok(exchange);
    await using started = await start(handle, { goaway: { chance: 0.001, random: random(2) } });
    const session = await started.http2();
    const slow = fetch2(session, '/held');
    await until(() => held.length === 1);
    await fetch2(session, '/');
    held[0]?.respond(200, {}, 'late');
    assert.equal((await slow).body.toString(), 'late');
  });

  it('never happens to HTTP/1.1, or by default', async () => {
    let asked = 0;
    const counting = {
      uuid: () => '',
      bytes(count: number) {
        asked += 1;
        return new Uint8Array(count);
      },
    };
    await using started = await start(ok, { goaway: { chance: 0.02, random: counting } });
    const socket = await started.tls();
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await once(socket, 'data');
    await using without = await start(ok, { goaway: { chance: 0, random: counting } });
    await fetch2(await without.http2(), '/');
    assert.equal(asked, 0);
  });
});
