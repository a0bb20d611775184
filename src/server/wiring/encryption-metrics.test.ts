import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Metrics } from '../../base/metrics.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { encryptionMetrics } from '../../store/encryption/encryption-metrics.ts';
import { encryptionReloads } from './encryption.ts';

/** Each serving thread has metrics of its own: `/metrics` shows those of all together. */
test('one change of the file is one reload, and times are times, whatever the number of threads', () => {
  const threads = Array.from({ length: 3 }, () => {
    const metrics = new Metrics();
    const clock = new ManualClock();
    clock.advance(5_000);
    encryptionReloads(metrics, { clock, environment: { hostname: 'here' } })('success');
    const { keyIdTimes, statusTimes } = encryptionMetrics(metrics);
    const key = { provider_name: 'plugin', key_id_hash: 'a', apiserver_id_hash: 'b' };
    keyIdTimes.set({ transformation_type: 'to_storage', ...key }, 100);
    statusTimes.set(key, 100);
    return metrics;
  });
  const [first, ...others] = threads as [Metrics, ...Metrics[]];
  const shown = [...first.pieces(others.map((metrics) => metrics.state()))].join('');
  const valuesOf = (name: string): readonly string[] =>
    [...shown.matchAll(new RegExp(`^${name}\\{.*\\} (\\S+)$`, 'gm'))].map(([, value]) => value ?? '');
  for (const [name, value] of [
    ['apiserver_encryption_config_controller_automatic_reloads_total', '1'],
    ['apiserver_encryption_config_controller_automatic_reload_success_total', '1'],
    ['apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds', '100'],
    ['apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds', '100'],
  ] as const) {
    assert.deepEqual(valuesOf(name), [value], name);
  }
});
