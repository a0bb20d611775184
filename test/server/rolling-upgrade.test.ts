import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { underLoad } from '../support/under-load.ts';

/** From the release before to this one. It is not part of a checkout: the tests are told where it is. */

const before = process.env['ORCH_RELEASE_BEFORE'];
const skip =
  before === undefined && 'ORCH_RELEASE_BEFORE is not set: the folder of the release before, installed and built';
const launcher = resolve(before ?? '.', 'bin/orch');

/** Objects of several groups, with owners of fields, by path of their collection. */
const objects: readonly (readonly [path: string, body: { readonly metadata: { readonly name: string } }])[] = [
  ['/api/v1/namespaces', { metadata: { name: 'kept' } }],
  ['/api/v1/namespaces/kept/configmaps', { metadata: { name: 'a', labels: { b: 'c' } }, data: { d: 'e' } } as never],
  ['/api/v1/namespaces/kept/secrets', { metadata: { name: 'f' }, stringData: { g: 'h' } } as never],
  ['/api/v1/namespaces/kept/serviceaccounts', { metadata: { name: 'i' } }],
];

async function make(server: OrchProcess): Promise<ReadonlyMap<string, string>> {
  const made = new Map<string, string>();
  for (const [path, body] of objects) {
    const { status, text } = await server.post(path, body);
    assert.equal(status, 201, text);
    const one = `${path}/${body.metadata.name}`;
    made.set(one, (await server.get(one)).text);
  }
  return made;
}

async function assertKept(server: OrchProcess, made: ReadonlyMap<string, string>): Promise<void> {
  for (const [path, text] of made) assert.equal((await server.get(path)).text, text, path);
}

describe('the release before', { skip }, () => {
  test('on SQLite: what it wrote is read byte by byte, and its clients go on', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'orch-upgrade-'));
    try {
      await using server = await OrchProcess.start({ dataDir, launcher });
      const made = await make(server);
      const { credentials } = server;
      const { json } = await server.get<{ metadata: { resourceVersion: string } }>('/api/v1/configmaps');
      await server.stop();
      await server.restart();
      assert.deepEqual(server.credentials.ca, credentials.ca);
      await assertKept(server, made);
      const watch = server.watch(`/api/v1/configmaps?watch=1&resourceVersion=${json.metadata.resourceVersion}`);
      assert.equal((await server.delete('/api/v1/namespaces/kept/configmaps/a')).status, 200);
      await watch.until(({ events }) =>
        events.some(({ type, object }) => type === 'DELETED' && object.metadata.name === 'a'),
      );
      watch.close();
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  test('on etcd: servers are replaced one by one, and one goes back, under load', { skip: etcdMissing }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'orch-upgrade-'));
    const etcd = await startEtcd();
    const flags = [`--etcd-servers=${etcd.endpoint}`];
    const [first, second] = [join(folder, 'one'), join(folder, 'two')];
    try {
      await using one = await OrchProcess.start({ flags, dataDir: first, launcher });
      mkdirSync(join(second, 'pki'), { recursive: true, mode: 0o700 });
      for (const file of ['ca.crt', 'ca.key', 'service-account.key'])
        cpSync(join(first, 'pki', file), join(second, 'pki', file));
      await using two = await OrchProcess.start({ flags, dataDir: second, launcher });
      const made = await make(one);
      await underLoad([one, two], async ({ moreWrites }) => {
        for (const [server, to] of [
          [two, undefined],
          [two, launcher],
          [two, undefined],
          [one, undefined],
        ] as const) {
          await moreWrites();
          await server.stop();
          await moreWrites();
          await server.restart(to);
          await assertKept(one, made);
          await assertKept(two, made);
        }
        await moreWrites();
      });
    } finally {
      await etcd.stop();
      rmSync(folder, { recursive: true });
    }
  });
});
