import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { Metrics } from '../base/metrics.ts';
import { ManualClock, systemClock } from '../base/time/clock.ts';
import { conformance } from './conformance/conformance.ts';
import { measuredStore, storeMetrics } from './measured-store.ts';
import { openStore } from './open.ts';
import type { Store } from './store.ts';

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

  it('in seconds, batches under no resource', async () => {
    const [metrics, clock] = [new Metrics(), new ManualClock()];
    const slow: Pick<Store, 'batch'> = {
      async batch() {
        clock.advance(250);
        return [];
      },
    };
    await measuredStore(slow as Store, storeMetrics(metrics, clock)).batch([]);
    assert.match(metrics.render(), /^etcd_request_duration_seconds_sum\{operation="batch",type=""\} 0\.25$/m);
  });

  it('keeps a bounded number of resources, and counts those beyond as well', async () => {
    const metrics = new Metrics();
    const store = measuredStore(await openStore({ backend: 'memory' }), storeMetrics(metrics, systemClock));
    for (let at = 0; at < limits.metricSeriesMax + 10; at++) await store.get(`/group/made-up-${at}/a`);
    await store.close();
    const series = metrics.render().match(/^etcd_requests_total\{.*$/gm) ?? [];
    assert.ok(series.length <= limits.metricSeriesMax + 1, `${series.length}`);
    const counted = series.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    assert.equal(counted, limits.metricSeriesMax + 10);
  });
});
