import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type EtcdProcess, etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { openEtcdStore } from '../../src/store/drivers/etcd/etcd-store.ts';
import { Command } from '../support/command.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** `orch migrate`: to etcd and back, with servers before, between and after. */

interface Item {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
}

const maps = '/api/v1/namespaces/default/configmaps';
const objects = 300;

/** Runs the command to its end. */
async function run(...args: readonly string[]): Promise<{ readonly code: number | null; readonly text: string }> {
  await using command = new Command('migrate', ...args);
  const code = await command.exit();
  return { code, text: command.out + command.err };
}

/** What clients see of each object but its version. */
async function seen(server: OrchProcess): Promise<Readonly<Record<string, string>>> {
  const { json, status, text } = await server.get<{ items: readonly Item[] }>(maps);
  assert.equal(status, 200, text);
  return Object.fromEntries(
    json.items.map((item) => [
      item.metadata.name,
      JSON.stringify({ ...item, metadata: { ...item.metadata, resourceVersion: '' } }),
    ]),
  );
}
const versionsOf = async (server: OrchProcess): Promise<readonly number[]> => {
  const { json } = await server.get<{ items: readonly Item[] }>(maps);
  return json.items.map(({ metadata }) => Number(metadata.resourceVersion));
};
const headOf = async (server: OrchProcess): Promise<number> => {
  const { json } = await server.get<{ metadata: Item['metadata'] }>(`${maps}?limit=1`);
  return Number(json.metadata.resourceVersion);
};

// Most of the time they wait for servers that may have ended.
describe('orch migrate', { skip: etcdMissing, timeout: 5 * 60_000, concurrency: true }, () => {
  let etcd: EtcdProcess;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'orch-migrate-'));
    etcd = await startEtcd();
  });
  after(async () => {
    await etcd?.stop();
    rmSync(folder, { recursive: true });
  });

  test('moves everything to etcd and back; versions only grow, and clients list again', async () => {
    const dataDir = join(folder, 'data');
    const flags = [`--etcd-servers=${etcd.endpoint}`, '--etcd-prefix=/moved'];
    const toEtcd = ['--from=sqlite', '--to=etcd', `--data-dir=${dataDir}`, ...flags];
    let before: Readonly<Record<string, string>>;
    let head: number;
    {
      await using server = await OrchProcess.start({ dataDir });
      for (let n = 0; n < objects; n += 50) {
        const made = Array.from({ length: 50 }, (_, k) =>
          server.post(maps, {
            metadata: { name: `c${n + k}`, labels: { n: String(n) } },
            data: { a: 'a'.repeat(n + k) },
          }),
        );
        for (const { status, text } of await Promise.all(made)) assert.equal(status, 201, text);
      }
      [before, head] = [await seen(server), await headOf(server)];
      const { code, text } = await run(...toEtcd);
      assert.deepEqual([code, /is in use by process \d+: stop it first/.test(text)], [1, true], text);
    }
    const moved = await run(...toEtcd);
    assert.deepEqual(
      [moved.code, /\d+ records of .*orch\.db; revisions go on from \d+/.test(moved.text)],
      [0, true],
      moved.text,
    );
    {
      const { code, text } = await run(...toEtcd);
      assert.deepEqual(
        [code, /holds \d+ records: choose another --etcd-prefix, or empty it/.test(text)],
        [1, true],
        text,
      );
    }
    {
      await using server = await OrchProcess.start({ dataDir, flags });
      assert.deepEqual(await seen(server), before);
      for (const version of await versionsOf(server)) assert.ok(version > head, `${version} is not above ${head}`);
      const { status, text } = await server.get(`${maps}?watch=1&resourceVersion=${head}`);
      assert.match(`${status} ${text}`, /410/);
      const { status: put } = await server.post(maps, { metadata: { name: 'later' } });
      assert.equal(put, 201);
      [before, head] = [await seen(server), await headOf(server)];
      const second = join(folder, 'in-use');
      const used = await run('--from=etcd', '--to=sqlite', `--data-dir=${second}`, ...flags);
      assert.deepEqual([used.code, existsSync(join(second, 'orch.db'))], [1, false], used.text);
      assert.match(used.text, /in use by the servers at|was written while it was copied/);
      // One that is killed counts for a while.
      assert.equal(await server.stop(), 0);
    }
    const taken = await run('--from=etcd', '--to=sqlite', `--data-dir=${dataDir}`, ...flags);
    assert.deepEqual(
      [taken.code, /orch\.db exists already; it was left as it is/.test(taken.text)],
      [1, true],
      taken.text,
    );
    const back = join(folder, 'back');
    const returned = await run('--from=etcd', '--to=sqlite', `--data-dir=${back}`, ...flags);
    assert.equal(returned.code, 0, returned.text);
    await using server = await OrchProcess.start({ dataDir: back });
    assert.deepEqual(await seen(server), before);
    for (const version of await versionsOf(server)) assert.ok(version > head, `${version} is not above ${head}`);
  });

  test('refuses a source with a server that is idle and publishes no address; not once it has ended', async () => {
    const sources = [
      { prefix: '/no-endpoints', flags: ['--endpoint-reconciler-type=none'] },
      { prefix: '/loopback', flags: ['--advertise-address=127.0.0.1'] },
      { prefix: '/threads', flags: ['--endpoint-reconciler-type=none', '--serving-threads=2'] },
    ].map(({ prefix, flags }) => {
      const from = [`--etcd-servers=${etcd.endpoint}`, `--etcd-prefix=${prefix}`];
      const to = join(folder, `from${prefix}`);
      return { prefix, server: () => OrchProcess.start({ flags: [...from, ...flags] }), from, to };
    });
    const moved = ({ from, to }: (typeof sources)[number]) =>
      run('--from=etcd', '--to=sqlite', `--data-dir=${to}`, ...from);
    const keysOf = async (prefix: string): Promise<number> => {
      const store = await openEtcdStore({ endpoints: [etcd.endpoint], prefix });
      try {
        return (await store.list('/.servers/')).records.length;
      } finally {
        await store.close();
      }
    };
    await using servers = new AsyncDisposableStack();
    const running = await Promise.all(sources.map(async ({ server }) => servers.use(await server())));
    for (const { code, text } of await Promise.all(sources.map(moved))) {
      assert.equal(code, 1, text);
      assert.match(text, /in use by the servers at .*: stop all of its servers, and try again/);
    }
    const [killed, ...stopped] = running;
    assert.ok(killed);
    for (const server of stopped) assert.equal(await server.stop(), 0);
    await killed.kill();
    // There is nothing to wait for.
    for (const { prefix } of sources.slice(1)) assert.equal(await keysOf(prefix), 0);
    assert.equal(await keysOf('/no-endpoints'), 1);
    const [late, ...atOnce] = await Promise.all(sources.map(moved));
    assert.ok(late);
    assert.match(late.text, /^waiting up to 15 s whether the servers at .* have ended$/m);
    for (const each of [late, ...atOnce]) assert.equal(each.code, 0, each.text);
    for (const { text } of atOnce) assert.doesNotMatch(text, /waiting/);
  });

  test('refuses a source that is full: its server runs, and cannot renew its key', async () => {
    const small = await startEtcd({ flags: ['--quota-backend-bytes', '8000000'] });
    try {
      const flags = [`--etcd-servers=${small.endpoint}`, '--etcd-prefix=/full'];
      await using server = await OrchProcess.start({ flags });
      const data = { filler: 'x'.repeat(900_000) };
      const fill = async (index: number): Promise<void> => {
        const { status } = await server.post(maps, { metadata: { name: `filler-${index}` }, data });
        if (status === 201) await fill(index + 1);
      };
      await fill(0);
      const to = join(folder, 'full');
      const { code, text } = await run('--from=etcd', '--to=sqlite', `--data-dir=${to}`, ...flags);
      assert.deepEqual([code, existsSync(join(to, 'orch.db'))], [1, false], text);
      assert.match(
        text,
        /\/full: etcd has raised the alarm NOSPACE: its servers cannot .*: stop all of them; compact .*, defragment .*, end the alarm/,
      );
    } finally {
      await small.stop();
    }
  });

  const etcdFlags = ['--etcd-servers=http://127.0.0.1:1', '--data-dir=/nowhere'];
  for (const [what, args, says] of [
    ['no direction', etcdFlags, /--from and --to are needed/],
    ['the same on both sides', ['--from=etcd', '--to=etcd', ...etcdFlags], /--from and --to are needed/],
    ['no data directory', ['--from=sqlite', '--to=etcd', '--etcd-servers=http://127.0.0.1:1'], /--data-dir is missing/],
    ['no etcd', ['--from=sqlite', '--to=etcd', '--data-dir=/nowhere'], /needs --etcd-servers/],
    ['no such file', ['--from=sqlite', '--to=etcd', ...etcdFlags], /\/nowhere\/orch\.db does not exist/],
  ] as const) {
    test(`says what is wrong: ${what}`, async () => {
      const { code, text } = await run(...args);
      assert.match(text, says);
      assert.notEqual(code, 0);
    });
  }
});
