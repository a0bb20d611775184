import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../base/time/clock.ts';
import { openMemoryStore } from '../../store/drivers/memory/memory-store.ts';
import { ServerLeases } from './server-leases.ts';

const leaseMs = 15_000;

test('servers of one store know each other until one is silent for the time of a lease', async () => {
  const store = openMemoryStore();
  const clock = new ManualClock();
  const leasesOf = (address: string): ServerLeases => new ServerLeases({ store, clock, address, leaseMs });
  const [one, other] = [leasesOf('192.0.2.1'), leasesOf('192.0.2.2')];
  assert.deepEqual(await one.renew(), ['192.0.2.1']);
  assert.deepEqual(await other.renew(), ['192.0.2.1', '192.0.2.2']);
  for (let round = 0; round < 4; round++) {
    clock.advance(10_000);
    assert.deepEqual(await one.renew(), ['192.0.2.1', '192.0.2.2']);
    assert.deepEqual(await other.renew(), ['192.0.2.1', '192.0.2.2']);
  }
  clock.advance(10_000);
  assert.deepEqual(await one.renew(), ['192.0.2.1', '192.0.2.2']);
  clock.advance(leaseMs - 1);
  assert.deepEqual(await one.renew(), ['192.0.2.1', '192.0.2.2']);
  clock.advance(1);
  assert.deepEqual(await one.renew(), ['192.0.2.1']);
  assert.deepEqual(
    (await store.list('/.apiservers/')).records.map(({ key }) => key),
    ['/.apiservers/192.0.2.1'],
  );
  assert.deepEqual(await other.renew(), ['192.0.2.1', '192.0.2.2'], 'one that comes back counts again');
  await store.close();
});

test('a server that starts counts the lease of one that crashed only for as long as it lasts', async () => {
  const store = openMemoryStore();
  const clock = new ManualClock();
  await new ServerLeases({ store, clock, address: '192.0.2.9', leaseMs }).renew();
  const started = new ServerLeases({ store, clock, address: '192.0.2.1', leaseMs });
  assert.deepEqual(await started.renew(), ['192.0.2.1', '192.0.2.9']);
  clock.advance(leaseMs);
  assert.deepEqual(await started.renew(), ['192.0.2.1']);
  await store.close();
});
