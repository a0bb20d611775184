import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ServiceRanges } from '../../kinds/core/service/service-pools.ts';
import { multiCidrGate } from '../../kinds/networking/ip-address.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { openMemoryStore } from '../../store/drivers/memory/memory-store.ts';
import type { Store } from '../../store/store.ts';
import { RegistryFixture } from '../registry-fixture.ts';

/** Addresses of services that are IPAddresses (KEP-1880). */

const services = '/api/v1/namespaces/n/services';
const addresses = '/apis/networking.orch.io/v1beta1/ipaddresses';
const prefix = '/networking.orch.io/ipaddresses/';
const features = new Set([multiCidrGate]);

const rangesOf = (open: readonly string[], closed: readonly string[] = []): ServiceRanges => ({
  clusterIps: ['10.0.0.0/24', 'fd00::/112'],
  nodePorts: { first: 30_000, last: 32_767 },
  stored: [...open.map((text) => ({ text, isOpen: true })), ...closed.map((text) => ({ text, isOpen: false }))],
});
const open = (serviceRanges = rangesOf(['10.0.0.0/24', 'fd00::/112']), store: Store = openMemoryStore()) =>
  RegistryFixture.open({ serviceRanges, features, store });

const service = (name: string, spec: Readonly<Record<string, unknown>> = {}) => ({
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});
const address = (name: string, metadata: object = {}) => ({
  metadata: { name, ...metadata },
  spec: { parentRef: { group: 'x.io', resource: 'gateways', name: 'g' } },
});
const addressesOf = (made: ApiObject): readonly string[] =>
  (made['spec'] as { readonly clusterIPs: readonly string[] }).clusterIPs;
async function stored({ store }: RegistryFixture): Promise<readonly string[]> {
  const { records } = await store.list(prefix);
  return records.map(({ key }) => key.slice(prefix.length));
}

describe('an address of a service', () => {
  test('is an object, as a request of the server would make it', async () => {
    await using fixture = await open();
    await fixture.call('POST', services, service('a', { clusterIP: '10.0.0.7' }));
    const shown = await fixture.object('GET', `${addresses}/10.0.0.7`);
    const { metadata, ...said } = shown;
    assert.deepEqual(said, {
      apiVersion: 'networking.orch.io/v1beta1',
      kind: 'IPAddress',
      spec: { parentRef: { resource: 'services', namespace: 'n', name: 'a' } },
    });
    assert.deepEqual(metadata.labels, {
      'ipaddress.orch.io/ip-family': 'IPv4',
      'ipaddress.orch.io/managed-by': 'ipallocator.orch.io',
    });
    assert.match(metadata.uid ?? '', /^[-0-9a-f]{36}$/);
    assert.deepEqual(
      metadata.managedFields?.map(({ manager, operation }) => [manager, operation]),
      [['orch', 'Update']],
    );
  });

  test('of each family is one, and goes with the service, and with its type', async () => {
    await using fixture = await open();
    const both = await fixture.object('POST', services, service('a', { ipFamilyPolicy: 'RequireDualStack' }));
    await fixture.call('POST', services, service('b', { clusterIP: '10.0.0.7' }));
    assert.deepEqual(await stored(fixture), [...addressesOf(both), '10.0.0.7'].sort());
    await fixture.call('DELETE', `${services}/a`);
    assert.deepEqual(await stored(fixture), ['10.0.0.7']);
    await fixture.call('PUT', `${services}/b`, service('b', { type: 'ExternalName', externalName: 'x.example' }));
    assert.deepEqual(await stored(fixture), []);
  });

  test('is none after a dry run, nor without the gate', async () => {
    await using fixture = await open();
    await fixture.call('POST', `${services}?dryRun=All`, service('a'));
    assert.deepEqual(await stored(fixture), []);
    await using off = await RegistryFixture.open({ serviceRanges: rangesOf(['10.0.0.0/24']) });
    await off.call('POST', services, service('a'));
    assert.deepEqual(await stored(off), []);
  });

  test('is not one that an IPAddress of somebody else has', async () => {
    await using fixture = await open(rangesOf(['10.0.0.0/30']));
    await fixture.call('POST', addresses, address('10.0.0.1'));
    const { message } = await fixture.refusal('POST', services, service('a', { clusterIP: '10.0.0.1' }));
    assert.match(message, /: failed to allocate IP 10\.0\.0\.1: provided IP is already allocated$/);
    assert.deepEqual(addressesOf(await fixture.object('POST', services, service('b'))), ['10.0.0.2']);
    assert.match(
      (await fixture.refusal('POST', services, service('c'))).message,
      /failed to allocate a serviceIP: range is full$/,
    );
  });

  test('stays with a finalizer, and where somebody has changed what it says', async () => {
    await using fixture = await open();
    for (const name of ['a', 'b']) {
      await fixture.call('POST', services, service(name, { clusterIP: name === 'a' ? '10.0.0.7' : '10.0.0.8' }));
    }
    await fixture.call('PATCH', `${addresses}/10.0.0.7`, { metadata: { finalizers: ['x.io/held'] } });
    await fixture.call('DELETE', `${addresses}/10.0.0.8`);
    await fixture.call('POST', addresses, address('10.0.0.8'));
    for (const name of ['a', 'b']) await fixture.call('DELETE', `${services}/${name}`);
    assert.deepEqual(await stored(fixture), ['10.0.0.7', '10.0.0.8']);
  });
});

describe('ranges', () => {
  test('are all used, also those that come while the server runs', async () => {
    await using fixture = await open(rangesOf(['10.0.0.0/30']));
    for (const name of ['a', 'b']) await fixture.call('POST', services, service(name));
    assert.equal((await fixture.refusal('POST', services, service('c'))).code, 500);
    fixture.serviceRanges = rangesOf(['10.0.0.0/30', '10.9.0.0/24']);
    assert.match(addressesOf(await fixture.object('POST', services, service('c')))[0] ?? '', /^10\.9\.0\.\d+$/);
    const shown = fixture.metrics.render().split('\n');
    for (const line of [
      'allocation_total{cidr="10.9.0.0/24",scope="dynamic"} 1',
      'allocation_errors_total{cidr="10.0.0.0/30",scope="dynamic"} 1',
    ]) {
      assert.ok(shown.includes(`kube_apiserver_clusterip_allocator_${line}`), line);
    }
  });

  test('that are closed give nothing; what services have of them they keep', async () => {
    await using fixture = await open(rangesOf(['10.0.0.0/24', '10.9.0.0/24']));
    await fixture.call('POST', services, service('a', { clusterIP: '10.9.0.7' }));
    fixture.serviceRanges = rangesOf(['10.0.0.0/24'], ['10.9.0.0/24']);
    const mismatch = /failed to allocate IP .*: the provided network does not match the current range$/;
    for (const asked of ['10.9.0.8', '10.0.0.0', '10.0.0.255', '192.0.2.1']) {
      const { message } = await fixture.refusal('POST', services, service('b', { clusterIP: asked }));
      assert.match(message, mismatch, asked);
    }
    const ports = [{ port: 81 }];
    await fixture.call('PUT', `${services}/a`, service('a', { clusterIP: '10.9.0.7', ports }));
    await fixture.call('DELETE', `${services}/a`);
    assert.deepEqual(await stored(fixture), []);
  });

  test('overlap', async () => {
    await using fixture = await open(rangesOf(['10.0.0.0/30', '10.0.0.0/29']));
    const given: string[] = [];
    for (let count = 0; count < 6; count++) {
      given.push(...addressesOf(await fixture.object('POST', services, service(`s${count}`))));
    }
    assert.deepEqual(
      given.sort(),
      [1, 2, 3, 4, 5, 6].map((last) => `10.0.0.${last}`),
    );
    assert.equal((await fixture.refusal('POST', services, service('more'))).code, 500);
  });

  test('of IPv6 may be large: any of a /64 can be asked for, none of a /48', async () => {
    await using fixture = await open(rangesOf(['fd02::/48', 'fd03::/64']));
    const six = { ipFamilies: ['IPv6'] };
    const asked = await fixture.object('POST', services, service('a', { ...six, clusterIP: 'fd03::ffff:ffff:0:7' }));
    assert.deepEqual(addressesOf(asked), ['fd03::ffff:ffff:0:7']);
    assert.match(
      addressesOf(await fixture.object('POST', services, service('b', six)))[0] ?? '',
      /^fd03::[0-9a-f:]{1,9}$/,
    );
    assert.equal((await fixture.refusal('POST', services, service('c', { ...six, clusterIP: 'fd02::7' }))).code, 422);
  });
});

test('two servers with the gate, and one without, give no address twice', async () => {
  const store = openMemoryStore();
  const ranges = rangesOf(['10.0.0.0/25', '10.0.1.0/25']);
  const fixtures = [
    await open(ranges, store),
    await open(ranges, store),
    await RegistryFixture.open({ store, serviceRanges: { clusterIps: ['10.0.0.0/25'], nodePorts: ranges.nodePorts } }),
  ];
  try {
    const given = await Promise.all(
      Array.from({ length: 120 }, async (_, index) =>
        addressesOf(await (fixtures[index % 3] as RegistryFixture).object('POST', services, service(`s${index}`))),
      ),
    );
    assert.equal(new Set(given.flat()).size, 120);
    const byGate = given.filter((_, index) => index % 3 !== 2).flat();
    assert.deepEqual(await stored(fixtures[0] as RegistryFixture), byGate.sort());
  } finally {
    for (const fixture of fixtures) await fixture.cache.close();
    await store.close();
  }
});
