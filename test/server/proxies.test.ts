import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { type CertificateRecipe, forClients, makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { nameOf, type Shown, send, whoIs } from '../support/identity.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { http2Status, openHttp2, requestText, sendRaw, statusOf } from '../support/raw-client.ts';

/** Authenticating proxies, by every flag --requestheader-*, beside users with certificates (--client-ca-file). */

const folder = mkdtempSync(join(tmpdir(), 'proxies-'));
/** Writes a file at once, as deployment tools do; its path. */
function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
  return path;
}

const authority = (name: string) => makeCertificate({ name, authority: true });
const [users, moreUsers, proxies, strangers] = ['users', 'more-users', 'proxies', 'strangers'].map(authority);
assert.ok(users && moreUsers && proxies && strangers);
const leaf = (recipe: CertificateRecipe): Required<Pick<Shown, 'cert' | 'key'>> => {
  const { cert, key } = makeCertificate({ uses: [forClients], ...recipe });
  return { cert, key };
};
const front = leaf({ name: 'front', issuer: proxies });
const jane = leaf({ name: 'jane', organizations: ['staff'], issuer: users });

let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start({
    flags: [
      `--client-ca-file=${file('users.pem', users.cert)}`,
      `--requestheader-client-ca-file=${file('proxies.pem', proxies.cert)}`,
      '--requestheader-allowed-names=front,side',
      '--requestheader-username-headers=X-Remote-User,X-Second-User',
      '--requestheader-uid-headers=X-Remote-Uid',
      '--requestheader-group-headers=X-Remote-Group,X-Second-Group',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-,X-More-',
      '--feature-gates=RemoteRequestHeaderUID=true',
    ],
  });
});
after(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const says = { 'X-Remote-User': 'paul' };

describe('a proxy says in headers whom it speaks for', () => {
  test('name, uid, groups and more, in all headers that were named', async () => {
    const headers = {
      'x-remote-user': 'paul',
      'X-REMOTE-UID': 'u-1',
      'X-Remote-Group': ['one', 'two, still two'],
      'X-Second-Group': ['three', ''],
      'X-Remote-Extra-Scopes': ['read', 'write'],
      'X-Remote-Extra-Example.com%2FTeam': 'a',
      'X-More-Scopes': 'all',
    };
    assert.deepEqual(await whoIs(server, { ...front, headers }), {
      username: 'paul',
      uid: 'u-1',
      groups: ['one', 'two, still two', 'three', 'system:authenticated'],
      extra: { scopes: ['read', 'write', 'all'], 'example.com/team': ['a'] },
    });
  });

  test('the first name counts, where it is one', async () => {
    for (const [headers, name] of [
      [{ 'X-Remote-User': 'paul', 'X-Second-User': 'mary' }, 'paul'],
      [{ 'X-Remote-User': '', 'X-Second-User': 'mary' }, 'mary'],
      [{ 'X-Remote-User': ['paul', 'mary'] }, 'paul'],
      [{ 'X-Remote-User': Buffer.from('jürgen').toString('latin1') }, 'jürgen'],
    ] as const) {
      assert.equal(await nameOf(server, { ...front, headers }), name);
    }
  });

  test('also that nobody was authenticated', async () => {
    const headers = { 'X-Remote-User': 'system:anonymous', 'X-Remote-Group': 'system:unauthenticated' };
    const { status, text } = await send(server, 'GET', '/api', { shown: { ...front, headers } });
    assert.equal(status, 403);
    assert.match(text, /system:anonymous/);
  });

  test('of each name that is allowed, and of no other: 401', async () => {
    for (const [name, expected] of [
      ['front', 'paul'],
      ['side', 'paul'],
      ['back', 401],
      ['FRONT', 401],
    ] as const) {
      assert.equal(await nameOf(server, { ...leaf({ name, issuer: proxies }), headers: says }), expected, name);
    }
  });

  test('speaks for nobody without a name: 401, since it is no user', async () => {
    const silent = [{}, { 'X-Remote-User': '' }, { 'X-Remote-Group': 'system:masters' }, { 'X-Remote-Uid': '1' }];
    for (const headers of silent) assert.equal(await nameOf(server, { ...front, headers }), 401);
  });

  test('what is no UTF-8 is nobody: 401', async () => {
    for (const headers of [{ 'X-Remote-User': '\xff' }, { ...says, 'X-Remote-Group': '\xc3\x28' }]) {
      assert.equal(await nameOf(server, { ...front, headers }), 401);
    }
  });
});

describe('headers that somebody else sends mean nothing', () => {
  const forged = { ...says, 'X-Remote-Group': 'system:masters', 'X-Remote-Uid': '0', 'X-More-Scopes': 'all' };
  const rows: readonly (readonly [who: string, shown: Shown, expected: string | number])[] = [
    ['a user', jane, 'jane'],
    ['a user with the name of a proxy', leaf({ name: 'front', issuer: users }), 'front'],
    ['a proxy of another authority', leaf({ name: 'front', issuer: strangers }), 401],
    ['a proxy whose certificate is for servers', leaf({ name: 'front', issuer: proxies, uses: [] }), 401],
    ['nobody', {}, 403],
  ];
  for (const [who, shown, expected] of rows) {
    test(`${who}: ${expected}`, async () => {
      assert.equal(await nameOf(server, { ...shown, headers: forged }), expected);
    });
  }

  test('the admin stays the admin', async () => {
    assert.equal(await nameOf(server, { ...server.credentials, headers: forged }), 'orch-admin');
  });

  test('nor through another request on the connection of a proxy', async () => {
    await using session = await open(front);
    const path = '/apis/authentication.orch.io/v1';
    const forgery = { ':path': path, 'x-remote-user': 'root', 'x-remote-group': 'system:masters' };
    assert.equal(await http2Status(session.http2, forgery), 200);
    assert.equal(await http2Status(session.http2, { ':path': path }), 401);
  });
});

/** An HTTP/2 connection that is closed with its block. */
async function open(pair: Required<Pick<Shown, 'cert' | 'key'>>) {
  const http2 = await openHttp2(server, pair);
  return { http2, [Symbol.asyncDispose]: async () => http2.destroy() };
}

describe('a header that `Connection` lists', () => {
  for (const name of [
    'X-Remote-User',
    'x-second-user',
    'X-Remote-Group',
    'X-Remote-Uid',
    'x-more-scopes',
    'X-Remote-Extra-A',
  ]) {
    test(`${name}: 400, whoever sends it`, async () => {
      for (const pair of [front, jane]) {
        const lines = ['X-Remote-User: paul', `${name}: x`, `connection: keep-alive, ${name}`];
        const text = requestText('GET', '/version', ...lines).replace('connection: close\r\n', '');
        assert.equal(statusOf(await sendRaw(server, `${text}GET / HTTP/1.0\r\n\r\n`, pair)), 400);
      }
    });
  }
});

describe('authorities are read again, also for connections that are open', () => {
  const identified = (shown: Shown, expected: string | number, what: string) =>
    until(async () => (await nameOf(server, shown)) === expected, what);

  test('of users: one that is added counts, one that is taken away no more', async () => {
    const later = leaf({ name: 'later', issuer: moreUsers });
    assert.equal(await nameOf(server, later), 401);
    using agent = keptConnection(jane);
    assert.equal(await nameOf(server, { agent }), 'jane');
    file('users.pem', users.cert + moreUsers.cert);
    await identified(later, 'later', 'the new authority counts');
    assert.equal(await nameOf(server, { agent }), 'jane');
    file('users.pem', moreUsers.cert);
    await identified({ agent }, 401, 'the old authority counts no more');
    assert.equal(await nameOf(server, jane), 401);
    assert.equal(await nameOf(server, later), 'later');
    assert.equal(agent.made, 1, 'all of it on one connection');
    assert.equal(await nameOf(server, server.credentials), 'orch-admin', 'the own authority is not in the file');
  });

  test('of proxies', async () => {
    using agent = keptConnection(front);
    const shown = { agent, headers: says };
    assert.equal(await nameOf(server, shown), 'paul');
    file('proxies.pem', strangers.cert);
    await identified(shown, 401, 'the old authority counts no more');
    assert.equal(await nameOf(server, { ...leaf({ name: 'side', issuer: strangers }), headers: says }), 'paul');
    assert.equal(agent.made, 1);
  });

  test('a file that cannot be used changes nothing, and is told', async () => {
    const later = leaf({ name: 'later', issuer: moreUsers });
    for (const content of ['', String(later.key)]) {
      const told = server.log.split('authorities of clients stay as they are').length;
      file('users.pem', content);
      await until(() => server.log.split('authorities of clients stay as they are').length > told, 'it is logged');
      assert.equal(await nameOf(server, later), 'later');
    }
    assert.doesNotMatch(server.log, /PRIVATE KEY/);
  });
});

/** An agent with one connection, and how many it has made. */
class OneConnection extends https.Agent {
  made = 0;

  override createConnection(...args: Parameters<https.Agent['createConnection']>) {
    this.made += 1;
    return super.createConnection(...args);
  }

  [Symbol.dispose](): void {
    this.destroy();
  }
}

const keptConnection = ({ cert, key }: Shown): OneConnection =>
  new OneConnection({ keepAlive: true, maxSockets: 1, ca: server.credentials.ca, cert, key });
