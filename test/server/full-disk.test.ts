import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { smallDiskMissing, withSmallDisk } from '../../src/store/drivers/sqlite/small-disk-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** What clients see of a disk that is full: deletions of all kinds go on, and make room for everything else. */

const path = '/api/v1/namespaces/default/configmaps';
const merge = { 'content-type': 'application/merge-patch+json' };
const configMap = (name: string, bytes: number, metadata = {}) => ({
  metadata: { name, ...metadata },
  data: { a: 'x'.repeat(bytes) },
});

test('on a full disk objects, collections and namespaces are deleted, and writes go on after that', {
  skip: smallDiskMissing,
  timeout: 120_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'full-disk-'));
  try {
    await using server = await OrchProcess.start({
      flags: [`--sqlite-file=${join(folder, 'orch.db')}`],
      within: withSmallDisk({ folder, kibibytes: 64 * 1024 }),
    });
    const reserve = `/proc/${server.pid}/root${folder}/orch.db-reserve`;
    const isReserved = () => statSync(reserve, { throwIfNoEntry: false })?.size === limits.sqliteReserveBytes;
    await until(isReserved, 'no room was set aside');

    const finalizers = ['example.com/a'];
    assert.equal((await server.post(path, configMap('held', 1_000, { finalizers }))).status, 201);
    assert.equal((await server.post('/api/v1/namespaces', { metadata: { name: 'n' } })).status, 201);
    assert.equal((await server.post('/api/v1/namespaces/n/configmaps', configMap('in-n', 1_000))).status, 201);
    const made: string[] = [];
    for (;;) {
      const answer = await server.post(path, configMap(`c${made.length}`, 500_000));
      if (answer.status !== 201) {
        assert.equal(answer.status, 503, answer.text);
        assert.match(answer.text, /the data store has no room left; the request was not carried out/);
        break;
      }
      made.push(`c${made.length}`);
    }
    assert.ok(made.length > 30, `${made.length}`);

    assert.equal((await server.put(`${path}/c0`, configMap('c0', 600_000))).status, 503);
    assert.equal((await server.put(`${path}/c0`, configMap('c0', 1_000))).status, 200);
    const deleted = await server.delete(`${path}/held`);
    assert.equal(deleted.status, 200, deleted.text);
    const released = { body: { metadata: { finalizers: null } }, headers: merge };
    assert.equal((await server.request('PATCH', `${path}/held`, released)).status, 200);
    assert.equal((await server.get(`${path}/held`)).status, 404);
    assert.equal((await server.delete('/api/v1/namespaces/n')).status, 200);
    // More than the reserve, which comes first.
    for (const name of made.slice(0, -10)) assert.equal((await server.delete(`${path}/${name}`)).status, 200);
    const gone = async () => (await server.get('/api/v1/namespaces/n')).status === 404;
    await until(gone, () => `the namespace stays:\n${server.log}`);
    const isTaken = async () => (await server.post(path, configMap('after', 500_000))).status === 201;
    await until(isTaken, () => `there is no room again:\n${server.log}`);
    await until(isReserved, 'the reserve was not set aside again');
    assert.equal((await server.delete(path)).status, 200);
    assert.match(server.log, /no room is left on the disk: only deletions/);
    assert.match(server.log, /there is room on the disk again/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
