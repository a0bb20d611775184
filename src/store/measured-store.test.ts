import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Metrics } from '../base/metrics.ts';
import { systemClock } from '../base/time/clock.ts';
import { conformance } from './conformance/conformance.ts';
import { measuredStore, storeMetrics } from './measured-store.ts';
import { openStore } from './open.ts';

const value = Buffer.from('{}');

conformance({
  name: 'measured memory',
  capabilities: { durable: false },
  async open() {
    const store = measuredStore(await openStore({ backend: 'memory' }), storeMetrics(new Metrics(), systemClock));
    return { store, dispose: () => store.close() };
  },
});

describe('operations on a store are measured', () => {
  it('by resource, failures too', async () => {
    const metrics = new Metrics();
    const store = measuredStore(await openStore({ backend: 'memory' }), storeMetrics(metrics, systemClock));
    const { revision } = await store.create('/core/configmaps/a/b', value);
    await store.create('/.scopes/x/core/configmaps/a/b', value);
    await store.create('/apps/deployments/a/b', value);
    await assert.rejects(store.create('/core/configmaps/a/b', value), { code: 'exists' });
    await store.update('/core/configmaps/a/b', value, revision);
    await store.list('/core/configmaps/');
    await store.get('/claim');
    await store.close();
    const shown = (name: string) => (metrics.render().match(RegExp(`^etcd_request${name}\\{.*$`, 'gm')) ?? []).sort();
    assert.deepEqual(shown('s_total'), [
      'etcd_requests_total{operation="create",type="configmaps"} 3',
      'etcd_requests_total{operation="create",type="deployments.apps"} 1',
      'etcd_requests_total{operation="get",type=""} 1',
      'etcd_requests_total{operation="list",type="configmaps"} 1',
      'etcd_requests_total{operation="update",type="configmaps"} 1',
    ]);
    assert.deepEqual(
      shown('_errors_total').filter((line) => !line.endsWith(' 0')),
      ['etcd_request_errors_total{operation="create",type="configmaps"} 1'],
    );
    assert.equal(shown('_duration_seconds_count').length, 5);
  });
});
