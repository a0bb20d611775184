import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../base/logger.ts';
import { ManualClock } from '../../base/time/clock.ts';
import type { ApiClient } from '../../client/api-client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { orch } from '../../dialect/orch.ts';
import { type ServiceRanges, servicePools } from '../../kinds/core/service/service-pools.ts';
import { multiCidrGate } from '../../kinds/networking/ip-address.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { RegistryFixture } from '../../registry/registry-fixture.ts';
import { AddressRepair } from './address-repair.ts';

const services = '/api/v1/namespaces/n/services';
const addresses = '/apis/networking.orch.io/v1beta1/ipaddresses';
const seven = `${addresses}/10.0.0.7`;
const serviceRanges: ServiceRanges = {
  clusterIps: ['10.0.0.0/24'],
  nodePorts: { first: 30_000, last: 32_767 },
  stored: [{ text: '10.0.0.0/24', isOpen: true }],
};
const service = (name: string, clusterIP: string) => ({
  metadata: { name },
  spec: { clusterIP, ports: [{ port: 80 }] },
});
const labels = {
  'ipaddress.orch.io/ip-family': 'IPv4',
  'ipaddress.orch.io/managed-by': 'ipallocator.orch.io',
};
const address = (name: string, parentRef: object, metadata: object = { labels }) => ({
  metadata: { name, ...metadata },
  spec: { parentRef },
});
const parent = (name: string) => ({ resource: 'services', namespace: 'n', name });

/** The way of the repair to the registry. */
function clientOf(fixture: RegistryFixture): Pick<ApiClient, 'create' | 'delete'> {
  return {
    create: (path: string, object: unknown) => fixture.object('POST', path, object) as never,
    delete: async (path: string, options: unknown) => void (await fixture.call('DELETE', path, options)),
  };
}

async function opened(features: ReadonlySet<string> = new Set([multiCidrGate])) {
  const clock = new ManualClock();
  const fixture = await RegistryFixture.open({ clock, serviceRanges, features });
  const told: string[] = [];
  const events: EventRecorder = {
    record: ({ about, type, reason, message }) =>
      void told.push(`${about.kind} ${about.name} ${type} ${reason}: ${message}`),
  };
  const repair = new AddressRepair({
    ...{ clock, events, cache: fixture.cache, resources: fixture.resources, dialect: orch, logger: silentLogger },
    client: clientOf(fixture) as ApiClient,
    pools: () => servicePools(fixture.serviceRanges, orch),
  });
  const parentOf = async (): Promise<unknown> =>
    ((await fixture.object('GET', seven)) as ApiObject & { readonly spec: { readonly parentRef: unknown } }).spec
      .parentRef;
  const isGone = async (): Promise<boolean> => (await fixture.refusal('GET', seven)).code === 404;
  return { fixture, clock, repair, told, parentOf, isGone };
}

test('nothing is done where IPAddresses and services agree, nor to those of others', async () => {
  const { fixture, repair, told, clock } = await opened();
  await using _ = fixture;
  await fixture.call('POST', services, service('a', '10.0.0.7'));
  await fixture.call('POST', addresses, address('10.0.0.8', { resource: 'gateways', name: 'g' }, {}));
  clock.advance(3_600_000);
  const before = await fixture.store.head();
  await repair.pass();
  assert.equal(await fixture.store.head(), before);
  assert.deepEqual(told, []);
});

test('services from before get their IPAddresses, unless they are outside of all ranges', async () => {
  const { fixture, repair, told, parentOf } = await opened(new Set());
  await using _ = fixture;
  await fixture.call('POST', services, service('a', '10.0.0.7'));
  fixture.serviceRanges = { ...serviceRanges, stored: [{ text: '10.9.0.0/24', isOpen: true }] };
  await repair.pass();
  assert.deepEqual(told, []);
  fixture.serviceRanges = serviceRanges;
  await repair.pass();
  assert.deepEqual(await parentOf(), parent('a'));
  assert.deepEqual(told, [
    'Service a Warning ClusterIPNotAllocated: Cluster IP [IPv4]: 10.0.0.7 is not allocated; repairing',
  ]);
});

test('an IPAddress that names somebody else is made again', async () => {
  const { fixture, repair, told, parentOf } = await opened();
  await using _ = fixture;
  await fixture.call('POST', services, service('a', '10.0.0.7'));
  for (const wrong of [{ group: 'x.io', resource: 'gateways', name: 'g' }, parent('gone')]) {
    await fixture.call('DELETE', seven);
    await fixture.call('POST', addresses, address('10.0.0.7', wrong));
    await repair.pass();
    assert.deepEqual(await parentOf(), parent('a'));
    assert.deepEqual(told.splice(0), [
      'Service a Warning ClusterIPNotAllocated: the ClusterIP [IPv4]: 10.0.0.7 for Service n/a has a wrong reference; repairing',
    ]);
  }
});

test('of two services with one address the one that the IPAddress names keeps it', async () => {
  const { fixture, repair, told, parentOf } = await opened();
  await using _ = fixture;
  await fixture.call('POST', services, service('a', '10.0.0.7'));
  await fixture.call('POST', services, service('b', '10.0.0.8'));
  const key = '/core/services/n/b';
  const record = await fixture.store.get(key);
  const text = Buffer.from(record?.value ?? []).toString();
  await fixture.store.update(key, Buffer.from(text.replaceAll('10.0.0.8', '10.0.0.7')), record?.revision ?? 0);
  await fixture.call('DELETE', `${addresses}/10.0.0.8`);
  await repair.pass();
  assert.deepEqual(await parentOf(), parent('a'));
  assert.deepEqual(told, []);
});

test('labels come back', async () => {
  const { fixture, repair } = await opened();
  await using _ = fixture;
  await fixture.call('POST', services, service('a', '10.0.0.7'));
  await fixture.call('PATCH', seven, { metadata: { labels: { 'ipaddress.orch.io/managed-by': 'me' } } });
  await repair.pass();
  assert.deepEqual((await fixture.object('GET', seven)).metadata.labels, labels);
});

test('an IPAddress without a service goes when it is a minute old', async () => {
  const { fixture, repair, told, clock, isGone } = await opened();
  await using _ = fixture;
  await fixture.call('POST', addresses, address('10.0.0.7', parent('gone')));
  clock.advance(60_000);
  await repair.pass();
  assert.deepEqual(told, []);
  clock.advance(1_000);
  await repair.pass();
  assert.ok(await isGone());
  assert.deepEqual(told, [
    'IPAddress 10.0.0.7 Warning IPAddressNotAllocated: IPAddress: 10.0.0.7 for Service n/gone appears to have leaked: cleaning up',
  ]);
});

test('an IPAddress of a service that has another address, or of no service, goes at once', async () => {
  const { fixture, repair, told, isGone } = await opened();
  await using _ = fixture;
  await fixture.call('POST', services, service('a', '10.0.0.9'));
  for (const [of, said] of [
    [parent('a'), 'IPAddressWrongReference: IPAddress: 10.0.0.7 for Service n/a has a wrong reference; cleaning up'],
    [
      { group: 'x.io', resource: 'gateways', name: 'g' },
      'IPAddressNotAllocated: IPAddress 10.0.0.7 appears to have been modified, not referencing a Service: cleaning up',
    ],
  ] as const) {
    await fixture.call('POST', addresses, address('10.0.0.7', of));
    await repair.pass();
    assert.ok(await isGone());
    assert.deepEqual(told.splice(0), [`IPAddress 10.0.0.7 Warning ${said}`]);
  }
});
