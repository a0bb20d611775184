import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import { ManualClock, systemClock } from '../../base/time/clock.ts';
import { orch } from '../../dialect/orch.ts';
import { defaultServiceRanges, type ServiceRanges, servicePools } from '../../kinds/core/service/service-pools.ts';
import { RegistryFixture } from '../../registry/registry-fixture.ts';
import { ClaimRepair } from './claim-repair.ts';

const services = '/api/v1/namespaces/n/services';
const service = (name: string, clusterIP?: string) => ({
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...(clusterIP !== undefined && { clusterIP }) },
});

async function held({ store }: RegistryFixture): Promise<readonly (readonly [key: string, holder: string])[]> {
  const { records } = await store.list('/.claims/');
  return records.map(({ key, value }) => [key.slice(9), JSON.parse(Buffer.from(value).toString()).key]);
}

function repairOf(fixture: RegistryFixture, ranges: ServiceRanges = defaultServiceRanges) {
  const told: string[] = [];
  const { store, cache, resources, metrics } = fixture;
  const events = {
    record: ({
      about,
      type,
      reason,
      message,
    }: Parameters<ConstructorParameters<typeof ClaimRepair>[0]['events']['record']>[0]) =>
      void told.push(`${about.name} ${type} ${reason}: ${message}`),
  };
  const repair = new ClaimRepair({
    ...{ store, cache, resources, events, metrics },
    pools: () => servicePools(ranges, orch),
    clock: systemClock,
    logger: silentLogger,
  });
  return { repair, told };
}

const a = '/core/services/n/a';
const claimOfA = 'clusterips/10.0.0.7';

test('nothing is done where claims and objects agree', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', services, service('a', '10.0.0.7'));
  const before = await fixture.store.head();
  const { repair, told } = repairOf(fixture);
  for (let look = 0; look < 3; look++) await repair.pass();
  assert.equal(await fixture.store.head(), before);
  assert.deepEqual(told, []);
  const shown = fixture.metrics.render().split('\n');
  for (const line of [
    'kube_apiserver_clusterip_allocator_allocated_ips{cidr="10.0.0.0/24"} 1',
    'kube_apiserver_clusterip_allocator_available_ips{cidr="10.0.0.0/24"} 253',
    'kube_apiserver_nodeport_allocator_allocated_ports 0',
    'kube_apiserver_nodeport_allocator_available_ports 2768',
  ]) {
    assert.ok(shown.includes(line), line);
  }
});

test('a claim that is missing is made, and told', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', services, service('a', '10.0.0.7'));
  const record = await fixture.store.get(`/.claims/${claimOfA}`);
  await fixture.store.delete(`/.claims/${claimOfA}`, record?.revision ?? 0);
  const { repair, told } = repairOf(fixture);
  await repair.pass();
  assert.deepEqual(await held(fixture), [[claimOfA, a]]);
  assert.deepEqual(told, ['a Warning ClusterIPNotAllocated: Cluster IP [IPv4]:10.0.0.7 is not allocated; repairing']);
});

const orphans: readonly (readonly [why: string, value: string])[] = [
  ['of an object that is not there', JSON.stringify({ key: '/core/services/n/gone', uid: 'u' })],
  ['of an object that does not say so', JSON.stringify({ key: a, uid: 'u' })],
  ['that cannot be read', '?'],
];
for (const [why, value] of orphans) {
  test(`a claim ${why} is removed at the second look`, async () => {
    await using fixture = await RegistryFixture.open();
    await fixture.call('POST', services, service('a', '10.0.0.7'));
    await fixture.store.create('/.claims/nodeports/30001', Buffer.from(value));
    const { repair, told } = repairOf(fixture);
    await repair.pass();
    assert.equal((await fixture.store.list('/.claims/')).records.length, 2);
    await repair.pass();
    assert.deepEqual(await held(fixture), [[claimOfA, a]]);
    assert.deepEqual(told, []);
  });
}

test('a claim that was written in between stays', async () => {
  await using fixture = await RegistryFixture.open();
  const { revision } = await fixture.store.create('/.claims/nodeports/30001', Buffer.from('{}'));
  const { repair } = repairOf(fixture);
  await repair.pass();
  await fixture.store.update('/.claims/nodeports/30001', Buffer.from('{ }'), revision);
  await repair.pass();
  assert.equal((await fixture.store.list('/.claims/')).records.length, 1);
});

test('an object gets the claim that names one that is gone; of two the second is told', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', services, service('a', '10.0.0.7'));
  await fixture.call('POST', services, service('b', '10.0.0.8'));
  // As a copy of a part of a store would leave it.
  const [first, second] = await Promise.all([fixture.store.get(a), fixture.store.get('/core/services/n/b')]);
  const text = Buffer.from(second?.value ?? [])
    .toString()
    .replaceAll('10.0.0.8', '10.0.0.7');
  await fixture.store.update('/core/services/n/b', Buffer.from(text), second?.revision ?? 0);
  const { repair, told } = repairOf(fixture);
  await repair.pass();
  assert.deepEqual(told, [
    'b Warning ClusterIPAlreadyAllocated: Cluster IP [IPv4]:10.0.0.7 was assigned to multiple services; please recreate service',
  ]);
  await fixture.store.delete(a, first?.revision ?? 0);
  await repair.pass();
  assert.deepEqual(await held(fixture), [[claimOfA, '/core/services/n/b']]);
});

test('what is outside of the range is told', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', services, {
    metadata: { name: 'a' },
    spec: { type: 'NodePort', clusterIP: '10.0.0.7', ports: [{ port: 80, nodePort: 30_001 }] },
  });
  const { repair, told } = repairOf(fixture, {
    clusterIps: ['10.1.0.0/24'],
    nodePorts: { first: 31_000, last: 31_001 },
  });
  await repair.pass();
  assert.deepEqual(told, [
    'a Warning ClusterIPOutOfRange: Cluster IP [IPv4]:10.0.0.7 is not within the service CIDR 10.1.0.0/24; please recreate service',
    'a Warning PortOutOfRange: Port 30001 is not within the port range 31000-31001; please recreate service',
  ]);
});

test('of ServiceCIDRs the closed ones count as ranges too; those that are gone are shown no more', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', services, service('a', '10.0.0.7'));
  let stored = [{ text: '10.0.0.0/24', isOpen: false }];
  const told: string[] = [];
  const { store, cache, resources, metrics } = fixture;
  const repair = new ClaimRepair({
    ...{ store, cache, resources, metrics, clock: systemClock, logger: silentLogger },
    events: { record: ({ reason, message }) => void told.push(`${reason}: ${message}`) },
    pools: () => servicePools({ ...defaultServiceRanges, stored }, orch),
  });
  await repair.pass();
  assert.deepEqual(told, []);
  const gauge = 'kube_apiserver_clusterip_allocator_allocated_ips';
  assert.ok(metrics.render().includes(`${gauge}{cidr="10.0.0.0/24"} 1\n`));
  stored = [{ text: '10.9.0.0/24', isOpen: true }];
  await repair.pass();
  assert.deepEqual(told, [
    'ClusterIPOutOfRange: Cluster IP [IPv4]: 10.0.0.7 is not within any configured Service CIDR; please recreate service',
  ]);
  const shown = metrics.render();
  assert.ok(shown.includes(`${gauge}{cidr="10.9.0.0/24"} 0\n`));
  assert.ok(!shown.includes(`${gauge}{cidr="10.0.0.0/24"}`));
});

test('it looks soon after the start, then every three minutes, until it is closed', async () => {
  const clock = new ManualClock();
  let looks = 0;
  const resources = { stored: () => [].values(), scope: { name: '', keyPrefix: '' } };
  const store = { list: async () => ({ records: [], revision: 1, remaining: 0 }) } as never;
  const cache = {
    fresh: async () => {
      looks++;
      return 1;
    },
  };
  const repair = new ClaimRepair({
    metrics: new Metrics(),
    store,
    cache,
    resources,
    pools: () => [],
    events: { record() {} },
    clock,
    logger: silentLogger,
  });
  repair.start();
  const waited: readonly (readonly [ms: number, looks: number])[] = [
    [4_999, 0],
    [1, 1],
    [3 * 60_000 - 1, 1],
    [1, 2],
  ];
  for (const [ms, expected] of waited) {
    clock.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(looks, expected);
  }
  repair.close();
  assert.equal(clock.pending, 0);
});
