import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { within } from '../../src/base/waits-fixture.ts';
import { Command } from '../support/command.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { http2Status, openHttp2, requestText, sendRaw, withoutCertificate } from '../support/raw-client.ts';
import { WebSocketClient } from '../support/web-socket-client.ts';

/** What must not be read by others: in logs, in answers, in files. */
let area: string;
before(() => {
  area = mkdtempSync(join(tmpdir(), 'secrets-'));
});
after(() => rmSync(area, { recursive: true }));

describe('at the highest verbosity the log holds no secret (CVE-2019-11250, CVE-2020-8565)', () => {
  const known = 'known-token-that-must-not-be-logged';
  const unknown = 'unknown-token-that-must-not-be-logged';
  const value = 'secret-value-that-must-not-be-logged';
  const password = 'etcd-password-that-must-not-be-logged';
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  /** However a secret might be written down. */
  const spellings = [known, unknown, value, password].flatMap((each) => [
    each,
    base64(each).replace(/=+$/, ''),
    Buffer.from(each).toString('base64url'),
    Buffer.from(each).toString('hex'),
    encodeURIComponent(each).replaceAll('-', '%2D'),
  ]);
  const secrets = '/api/v1/namespaces/default/secrets';

  const assertSilent = (log: string): void => {
    for (const spelling of spellings) assert.ok(!log.includes(spelling), `the log has ${spelling}:\n${log}`);
  };

  for (const format of ['text', 'json'])
    test(`whatever is sent, and whether it succeeds: ${format}`, async () => {
      const tokens = join(area, 'tokens.csv');
      writeFileSync(tokens, `${known},jane,1\n`);
      await using server = await OrchProcess.start({
        flags: ['--v=10', `--logging-format=${format}`, `--token-auth-file=${tokens}`],
      });
      for (const token of [known, unknown]) {
        for (const path of [secrets, '/nowhere', `${secrets}/a-name`, '/api/v1/%zz', `/readyz?exclude=${token}`]) {
          await server.get(path, { as: { token } });
          await server.get(`${path}${path.includes('?') ? '&' : '?'}access_token=${token}`, { as: { token } });
          await server.post(path, { token }, { as: { token } });
        }
        const schemes = [
          `Bearer  ${token}`,
          `Basic ${base64(`jane:${token}`)}`,
          `Bearer ${token}, Bearer ${token}`,
          token,
        ];
        for (const authorization of schemes) await server.get(secrets, { as: 'anonymous', headers: { authorization } });
        const carriers = [`cookie: token=${token}`, `proxy-authorization: Bearer ${token}`, `x-auth: ${token}`];
        const protocols = [`sec-websocket-protocol: base64url.bearer.authorization.orch.io.${base64(token)}`];
        for (const line of [...carriers, ...protocols, `impersonate-user: ${token}`, `authorization : ${token}`]) {
          const watch = await WebSocketClient.open(server, `${secrets}?watch=1`, {
            headers: [line, 'origin: https://a'],
          });
          watch.close();
          await sendRaw(server, requestText('GET', secrets, line), withoutCertificate);
          await sendRaw(server, `GET ${secrets} HTTP/1.1\r\n${line}\r\nbroken \0 ${token}\r\n\r\n`, withoutCertificate);
        }
        await sendRaw(server, `${token}\r\n\r\n`, withoutCertificate);
        const session = await openHttp2(server);
        await http2Status(session, { ':path': secrets, authorization: `Bearer ${token}` });
        await http2Status(session, { ':path': secrets, authorization: `Bearer ${token}`, connection: 'upgrade' }).catch(
          () => 0,
        );
        session.destroy();
      }
      const bodies: readonly unknown[] = [
        { metadata: { name: 'a' }, stringData: { k: value } },
        { metadata: { name: 'a' }, stringData: { k: value } },
        { metadata: { name: 'b' }, data: { k: base64(value) } },
        { metadata: { name: 'c' }, data: { k: value } },
        { metadata: { name: 'd' }, data: [value] },
        { metadata: { name: 'A_', labels: { [value]: value } }, stringData: { '/': value } },
        { metadata: { name: 'e', annotations: { k: value } }, type: value, immutable: value },
        `{"metadata":{"name":"f"},"stringData":{"k":"${value}"`,
        `{"metadata":{"name":"g"},"stringData":{"k":"${value}","k":"${value}"}}`,
        `${value}: &a [*a]`,
      ];
      assert.equal((await server.post(secrets, { metadata: { name: 'first' } })).status, 201, server.log);
      for (const body of bodies) {
        await server.post(secrets, body);
        await server.post(secrets, body, { headers: { 'content-type': 'application/yaml' } });
        await server.put(`${secrets}/a`, body);
        const headers = { 'content-type': 'application/merge-patch+json' };
        await server.request('PATCH', `${secrets}/a`, { body, headers });
      }
      const watch = server.watch(`${secrets}?watch=1`);
      await watch.until(({ events }) => events.length > 0);
      watch.close();
      await server.delete(secrets);
      assert.equal(await server.stop(), 0);
      assert.match(server.log, /stopped/, 'the log is looked at to its end');
      assertSilent(server.log);
    });

  test('a token file that cannot be read shows no token', async () => {
    for (const [name, text] of [
      ['columns', `${known}\n`],
      ['user', `${known},,1\n`],
      ['twice', `${known},a,1\n${known},b,2\n`],
      ['quotes', `${known},"a,1\n`],
      ['characters', `${known} ${known},a,1\n`],
    ] as const) {
      const file = join(area, name);
      writeFileSync(file, text);
      await using failing = new Command(
        'up',
        `--data-dir=${join(area, 'unused')}`,
        `--token-auth-file=${file}`,
        '--v=10',
      );
      assert.equal(await failing.exit(), 1);
      assert.match(failing.err, /--token-auth-file/);
      assertSilent(failing.out + failing.err);
    }
  });

  test('an etcd address with a password is refused without showing it', async () => {
    const flags = ['--secure-port=0', `--etcd-servers=http://user:${password}@127.0.0.1:1`, '--v=10'];
    await using failing = new Command('up', `--data-dir=${join(area, 'unused')}`, ...flags);
    assert.equal(await failing.exit(), 1);
    assert.match(failing.err, /--etcd-servers/);
    assertSilent(failing.out + failing.err);
  });

  test('a key is not shown because its file is damaged', async () => {
    const folder = join(area, 'damaged');
    mkdirSync(join(folder, 'pki'), { recursive: true });
    writeFileSync(
      join(folder, 'pki', 'ca.key'),
      `-----BEGIN PRIVATE KEY-----\n${base64(value)}\n-----END PRIVATE KEY-----\n`,
    );
    await using failing = new Command('up', `--data-dir=${folder}`, '--secure-port=0', '--v=10');
    assert.equal(await failing.exit(), 1);
    assertSilent(failing.out + failing.err);
  });
});

describe('answers', () => {
  test('of a failed authentication say nothing of why', async () => {
    await using server = await OrchProcess.start({ flags: ['--token-auth-file=test/support/tokens.csv'] });
    const wrong = await server.get('/api/v1/namespaces', { as: { token: 'secret-of-jan' } });
    const other = await server.get('/api/v1/namespaces', { as: { token: 'x' } });
    assert.deepEqual([wrong.status, wrong.text], [401, other.text]);
    assert.doesNotMatch(wrong.text, /secret-of|jane|token/);
  });

  test('for anonymous readers show no object, user or address', async () => {
    await using server = await OrchProcess.start();
    await server.post('/api/v1/namespaces/default/secrets', { metadata: { name: 'hidden-name' } });
    for (const path of ['/version', '/healthz?verbose', '/livez?verbose', '/readyz?verbose']) {
      const answer = await server.get(path, { as: 'anonymous' });
      assert.equal(answer.status, 200, path);
      assert.doesNotMatch(answer.text, /hidden-name|orch-admin|\/tmp\/|PRIVATE KEY/);
    }
    for (const path of [
      '/api',
      '/openapi/v2',
      '/metrics',
      '/api/v1/secrets',
      '/api/v1/namespaces/default/secrets/hidden-name',
      '/debug',
    ]) {
      const [there, not] = [
        await server.get(path, { as: 'anonymous' }),
        await server.get(`${path}-x`, { as: 'anonymous' }),
      ];
      assert.deepEqual([there.status, not.status], [403, 403], `${path} tells what exists`);
    }
  });
});

/** Killed when the tests are over, if a test that failed has left them running. */
const children: ChildProcess[] = [];
after(() => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
});

const launcher = resolve(import.meta.dirname, '../../bin/orch');

/** Runs a command under a umask that takes no permission away, until it ends or prints what is waited for. */
async function withoutUmask(args: readonly string[], until?: RegExp): Promise<{ stop: () => Promise<void> }> {
  const child = spawn('sh', ['-c', 'umask 000; exec "$0" "$@"', launcher, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const ended = new Promise((resolve) => child.once('close', resolve));
  let output = '';
  const { promise: printed, resolve: found } = Promise.withResolvers<void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
      if (until?.test(output)) found();
    });
  }
  await within(until ? Promise.race([printed, ended]) : ended, () => `it goes on: ${output}`);
  assert.ok(until ? until.test(output) : child.exitCode === 0, output);
  return {
    stop: async () => {
      if (child.exitCode === null) child.kill('SIGTERM');
      await within(ended, 'it does not end');
    },
  };
}

/** What others may do with anything below a folder; empty when nothing. */
function sharedFiles(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = [folder, ...entries.map(({ parentPath, name }) => join(parentPath, name))];
  return paths.filter((path) => (statSync(path).mode & 0o077) !== 0);
}

describe('files are for their owner, whatever the umask', () => {
  test('of up, while it runs and after it', async () => {
    const folder = join(area, 'up');
    const server = await withoutUmask(['up', `--data-dir=${folder}`, '--secure-port=0'], /listens on/);
    const names = readdirSync(folder);
    for (const name of [
      'admin.kubeconfig',
      'orch.db',
      'orch.db-wal',
      'orch.db-shm',
      'orch.db-lock',
      'orch.db-pid',
      'pki',
    ]) {
      assert.ok(names.includes(name), name);
    }
    assert.deepEqual(sharedFiles(folder), []);
    await server.stop();
    assert.deepEqual(sharedFiles(folder), []);
  });

  test('of apiserver', async () => {
    const folder = join(area, 'apiserver');
    const server = await withoutUmask(['apiserver', `--data-dir=${folder}`, '--secure-port=0'], /"serving"/);
    assert.deepEqual(sharedFiles(folder), []);
    await server.stop();
  });

  test('of a backup, and of what is restored from it', async () => {
    const folder = join(area, 'up');
    const copy = join(area, 'copy.db');
    await withoutUmask(['backup', `--to=${copy}`, `--data-dir=${folder}`]);
    assert.equal(statSync(copy).mode & 0o777, 0o600);
    const restored = join(area, 'restored');
    await withoutUmask(['restore', `--from=${copy}`, `--data-dir=${restored}`]);
    assert.deepEqual(sharedFiles(restored), []);
  });

  test('also of a database that came with wider permissions', async () => {
    const folder = join(area, 'up');
    chmodSync(join(folder, 'orch.db'), 0o666);
    const server = await withoutUmask(['up', `--data-dir=${folder}`, '--secure-port=0'], /listens on/);
    assert.deepEqual(sharedFiles(folder), []);
    await server.stop();
  });

  test('and the credential in them is one: the key of the authority stands in no other', () => {
    const folder = join(area, 'up');
    const key = readFileSync(join(folder, 'pki', 'ca.key'), 'utf8').split('\n')[1] ?? '';
    assert.ok(key.length > 20);
    const text = readFileSync(join(folder, 'admin.kubeconfig'), 'utf8');
    const plain = [...text.matchAll(/data: (\S+)/g)].map(([, data = '']) => Buffer.from(data, 'base64').toString());
    assert.equal(plain.length, 3);
    assert.ok(plain.every((pem) => !pem.includes(key)));
  });
});
