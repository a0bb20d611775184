import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { type EtcdProcess, etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** What the store holds is a metric, by the published names. */

const path = '/api/v1/namespaces/default/secrets';

const metric = (text: string, series: string): number => {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  assert.ok(line, `${series} is not among:\n${text}`);
  return Number(line.slice(series.length + 1));
};

async function checkMetrics(server: OrchProcess, clusterId: string): Promise<void> {
  const size = `apiserver_storage_size_bytes{storage_cluster_id="${clusterId}"}`;
  const objects = 'apiserver_storage_objects{resource="secrets"}';
  const before = (await server.get('/metrics')).text;
  assert.ok(metric(before, size) > 0);
  assert.equal(metric(before, objects), 0);
  const stringData = { data: 'x'.repeat(900_000) };
  for (const name of ['a', 'b', 'c', 'd']) {
    assert.equal((await server.post(path, { metadata: { name }, stringData })).status, 201);
  }
  assert.equal((await server.put(`${path}/a`, { metadata: { name: 'a' }, data: {} })).status, 200);
  assert.equal((await server.delete(`${path}/b`)).status, 200);
  let after = (await server.get('/metrics')).text;
  // On etcd both follow what was acknowledged by a moment.
  await until(async () => {
    after = (await server.get('/metrics')).text;
    return metric(after, size) > metric(before, size) + 2_000_000 && metric(after, objects) === 3;
  }, 'the metrics do not follow');
  assert.ok(metric(after, 'orch_storage_history_bytes') > metric(before, 'orch_storage_history_bytes') + 1_800_000);
  assert.equal(metric(after, 'orch_storage_early_compactions_total'), 0);
  assert.ok(metric(after, 'apiserver_storage_objects{resource="clusterroles.rbac.authorization.orch.io"}') > 10);
  assert.equal(after.includes('selfsubjectreviews'), false, 'what is never stored is not counted');
}

describe('metrics of the store', { timeout: 120_000 }, () => {
  test('on SQLite', async () => {
    await using server = await OrchProcess.start();
    await checkMetrics(server, 'sqlite-0');
  });

  test('on etcd', { skip: etcdMissing }, async () => {
    const etcd: EtcdProcess = await startEtcd();
    try {
      await using server = await OrchProcess.start({ flags: [`--etcd-servers=${etcd.endpoint}`] });
      await checkMetrics(server, 'etcd-0');
    } finally {
      await etcd.stop();
    }
  });
});
