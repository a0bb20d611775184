import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { type EtcdProcess, etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { openEtcdStore } from '../../src/store/drivers/etcd/etcd-store.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { Command } from '../support/command.ts';
import { KmsPlugin } from '../support/kms-plugin.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Encryption at rest, seen from outside: what clients see, what is stored, and what is in files. */

const folder = mkdtempSync(join(tmpdir(), 'encryption-'));
after(() => rmSync(folder, { recursive: true }));

const path = '/api/v1/namespaces/default/secrets';
const secretOf = (name: string): string => Buffer.alloc(32, name).toString('base64');
const cbc = (...names: readonly string[]) => ({
  aescbc: { keys: names.map((name) => ({ name, secret: secretOf(name) })) },
});
const identity = { identity: {} };
const plugin = (kms: KmsPlugin) => ({
  kms: { apiVersion: 'v2', name: 'plugin', endpoint: kms.endpoint, timeout: '1s' },
});

let files = 0;
/** Writes a configuration for secrets; returns its path. */
function configured(providers: readonly object[], file = join(folder, `${++files}.json`)): string {
  const kind = { apiVersion: 'apiserver.config.orch.io/v1', kind: 'EncryptionConfiguration' };
  writeFileSync(file, JSON.stringify({ ...kind, resources: [{ resources: ['secrets'], providers }] }));
  return file;
}

interface Item {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

async function create(server: OrchProcess, name: string, text: string): Promise<Item> {
  const body = { metadata: { name }, data: { text: Buffer.from(text).toString('base64') } };
  const { status, json, text: answer } = await server.post<Item>(path, body);
  assert.equal(status, 201, answer);
  return json;
}

const metric = async (server: OrchProcess, name: string): Promise<number> => {
  const { text } = await server.get('/metrics');
  return Number(new RegExp(`^${name}(?:\\{[^}]*status="success"[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
};
const reloads = (server: OrchProcess) =>
  metric(server, 'apiserver_encryption_config_controller_automatic_reloads_total');

async function rewrite(server: OrchProcess, ...args: readonly string[]): Promise<string> {
  await using command = new Command('rewrite', `--kubeconfig=${server.kubeconfig}`, ...args);
  assert.equal(await command.exit(), 0, command.err);
  return command.out;
}

/** What each stored secret begins with, up to the name of its key: random bytes follow. */
async function prefixes(store: Store): Promise<readonly string[]> {
  try {
    const { records } = await store.list('/core/secrets/default/');
    return records.map(({ key, value }) => {
      const prefix = /^(?:\w+:){0,5}/.exec(Buffer.from(value).toString('latin1'))?.[0];
      return `${key.replace(/.*\//, '')} ${prefix}`;
    });
  } finally {
    await store.close();
  }
}

const storedIn = (server: OrchProcess) =>
  openStore({ backend: 'sqlite', file: join(server.dataDir, 'orch.db') }).then(prefixes);

const automatic = '--encryption-provider-config-automatic-reload';

describe('keys in the configuration', { timeout: 5 * 60_000 }, () => {
  test('rotate: no file holds clear text, unchanged writes write once, and a lost key is said', async () => {
    const file = configured([cbc('one'), identity]);
    const gate = '--feature-gates=AllowUnsafeMalformedObjectDeletion=true';
    const flags = [`--encryption-provider-config=${file}`, automatic, gate];
    await using server = await OrchProcess.start({ flags });
    const words = 'words that no file may hold';
    const first = await create(server, 'first', words);
    await create(server, 'second', `${words}, twice`);
    const large = await create(server, 'large', words.repeat(20_000));

    configured([cbc('two', 'one'), identity], file);
    await until(async () => (await reloads(server)) === 1);
    const unchanged = async (name: string): Promise<string> => {
      const { json } = await server.get<Item>(`${path}/${name}`);
      const answer = await server.put<Item>(`${path}/${name}`, json);
      assert.equal(answer.status, 200, answer.text);
      return answer.json.metadata.resourceVersion;
    };
    // Large ones are written on another thread.
    for (const { metadata } of [first, large]) {
      const written = await unchanged(metadata.name);
      assert.notEqual(written, metadata.resourceVersion);
      assert.equal(await unchanged(metadata.name), written);
    }

    assert.match(await rewrite(server, '--resources=secrets'), /^secrets: 3 objects, 1 written$/m);
    assert.match(await rewrite(server, '--resources=secrets'), /^secrets: 3 objects, 0 written$/m);
    const rest = await rewrite(server, '--resources=*.', '--from=secrets/default/large');
    assert.match(rest, /^secrets: 1 objects, 0 written$/m);

    await using backup = new Command(
      'backup',
      `--to=${join(server.dataDir, 'backup.db')}`,
      `--data-dir=${server.dataDir}`,
    );
    assert.equal(await backup.exit(), 0, backup.err);
    const clear = Buffer.from(words).toString('base64').slice(0, 24);
    const holds = readdirSync(server.dataDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .filter((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(clear));
    assert.deepEqual(holds, []);
    for (const secret of [words, clear, secretOf('one'), secretOf('two')])
      assert.equal(server.log.includes(secret), false);
    await server.stop();
    assert.deepEqual(
      await storedIn(server),
      ['first', 'large', 'second'].map((name) => `${name} orch:enc:aescbc:v1:two:`),
    );

    configured([cbc('one')], file);
    await server.restart();
    const lost = await server.get(`${path}/first`);
    assert.equal(lost.status, 500, lost.text);
    assert.equal((await server.get(path)).status, 500);
    await server.post('/api/v1/namespaces', { metadata: { name: 'other' } });
    const readable = await server.post(path.replace('default', 'other'), { metadata: { name: 'readable' } });
    assert.equal(readable.status, 201, readable.text);
    await using unreadable = new Command('rewrite', `--kubeconfig=${server.kubeconfig}`, '--resources=secrets');
    assert.equal(await unreadable.exit(), 1);
    assert.match(unreadable.out, /^secrets: 1 objects, 0 written$/m);
    assert.match(
      unreadable.err,
      /^secrets: not listed: default: Internal error occurred: the value of \/core\/secrets\/default\/first at \d+ cannot be read$/m,
    );
    assert.match(unreadable.err, /^A list fails where an object cannot be read: find its key in the server's log/m);
    await create(server, 'third', words);
    const unread = { ignoreStoreReadErrorWithClusterBreakingPotential: true };
    const removed = await server.delete(`${path}/second`, { body: unread });
    assert.equal(removed.status, 200, removed.text);
    configured([cbc('one', 'two')], file);
    await until(async () => (await server.get(path)).status === 200);
    assert.equal((await server.get(`${path}/first`)).status, 200);
  });

  test('broken while a server runs: the former ones stay in use', async () => {
    const file = configured([cbc('one')]);
    await using server = await OrchProcess.start({ flags: [`--encryption-provider-config=${file}`, automatic] });
    writeFileSync(file, '{ broken');
    await until(() => server.log.includes('the encryption configuration is not reloaded'));
    await create(server, 'a', 'text');
    assert.equal((await server.get('/readyz')).status, 200);
    const { text } = await server.get('/metrics');
    assert.match(text, /encryption_config_controller_automatic_reloads_total\{status="failure",[^}]*\} 1\n/);
    await server.stop();
    assert.deepEqual(await storedIn(server), ['a orch:enc:aescbc:v1:one:']);
  });

  const refusals: readonly (readonly [name: string, flags: () => readonly string[], problem: RegExp])[] = [
    [
      'that is not there',
      () => ['--encryption-provider-config=/none'],
      /--encryption-provider-config: \/none cannot be read/,
    ],
    ['that is empty', () => [`--encryption-provider-config=${empty()}`], /configuration file ".*" is empty/],
    [
      'that is invalid',
      () => [`--encryption-provider-config=${configured([])}`],
      /providers: Required value: at least one/,
    ],
    [
      'that is followed and not named',
      () => [automatic],
      /automatic-reload must be set with --encryption-provider-config/,
    ],
  ];
  const empty = (): string => {
    const file = join(folder, 'empty.json');
    writeFileSync(file, '');
    return file;
  };
  for (const [name, flags, problem] of refusals) {
    test(`${name}: the start ends with the reason`, async () => {
      await using command = new Command('up', `--data-dir=${join(folder, 'unused')}`, '--secure-port=0', ...flags());
      assert.equal(await command.exit(), 1);
      assert.match(command.err, problem);
    });
  }
});

describe('a KMS plugin', { timeout: 5 * 60_000 }, () => {
  test('encrypts seeds only, and is told by health checks; values wait for it after a start', async () => {
    await using kms = await new KmsPlugin().start();
    const flags = [`--encryption-provider-config=${configured([plugin(kms)])}`];
    await using server = await OrchProcess.start({ flags });
    for (let count = 0; count < 20; count++) await create(server, `s-${count}`, 'text');
    assert.deepEqual([...new Set(kms.calls)], ['Status', 'Encrypt']);
    assert.match((await server.get('/readyz?verbose')).text, /^\[\+\]kms-providers ok$/m);
    assert.equal((await server.get('/livez/kms-providers')).status, 404);
    await server.stop();
    assert.equal(
      (await storedIn(server)).every((each) => each.endsWith(' orch:enc:kms:v2:plugin:')),
      true,
    );

    kms.calls.length = 0;
    await server.restart();
    assert.equal((await server.get(path)).status, 200);
    assert.equal(kms.calls.filter((call) => call === 'Decrypt').length, 1);
  });
});

describe('in front of etcd', { skip: etcdMissing, timeout: 5 * 60_000 }, () => {
  let etcd: EtcdProcess;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd.stop());

  test('values are encrypted and read by every server with the keys', async () => {
    const flags = [
      ...[`--etcd-servers=${etcd.endpoint}`, '--etcd-prefix=/encrypted'],
      `--encryption-provider-config=${configured([cbc('one'), identity])}`,
    ];
    await using one = await OrchProcess.start({ flags });
    await using other = await OrchProcess.start({ flags });
    await create(one, 'a', 'text');
    await until(async () => (await other.get(`${path}/a`)).status === 200);
    const store = await openEtcdStore({ endpoints: [etcd.endpoint], prefix: '/encrypted' });
    assert.deepEqual(await prefixes(store), ['a orch:enc:aescbc:v1:one:']);
  });
});
