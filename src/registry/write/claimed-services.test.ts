import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLogger } from '../../base/logger.ts';
import { systemClock } from '../../base/time/clock.ts';
import { serviceClaims } from '../../kinds/core/service/service-allocation.ts';
import type { ServiceRanges } from '../../kinds/core/service/service-pools.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { etcdMissing, startEtcd } from '../../store/drivers/etcd/etcd-process-fixture.ts';
import { openEtcdStore } from '../../store/drivers/etcd/etcd-store.ts';
import { openMemoryStore } from '../../store/drivers/memory/memory-store.ts';
import type { Store } from '../../store/store.ts';
import { RegistryFixture } from '../registry-fixture.ts';

const services = '/api/v1/namespaces/n/services';
type Spec = Readonly<Record<string, unknown>>;

const service = (name: string, spec: Spec = {}, metadata: Spec = {}) => ({
  metadata: { name, ...metadata },
  spec: { ports: [{ port: 80 }], ...spec },
});
const specOf = (object: ApiObject): Readonly<Record<string, never>> =>
  object['spec'] as Readonly<Record<string, never>>;
const portsOf = (object: ApiObject): readonly { readonly nodePort?: number }[] => specOf(object)['ports'] ?? [];

const ranges = (clusterIps: readonly string[], first = 30_000, last = 32_767): ServiceRanges => ({
  clusterIps,
  nodePorts: { first, last },
});
const open = (serviceRanges?: ServiceRanges): Promise<RegistryFixture> =>
  RegistryFixture.open(serviceRanges ? { serviceRanges } : {});

/** Values that are held in the store. */
async function held({ store }: RegistryFixture): Promise<readonly string[]> {
  const { records } = await store.list('/.claims/');
  return records.map(({ key }) => key.slice('/.claims/'.length)).sort();
}

/** What is held is what the services say, and nothing twice. */
async function requireConsistent(fixture: RegistryFixture): Promise<void> {
  const { items } = await fixture.list('/api/v1/services');
  const wanted = items.flatMap((item) => serviceClaims(item).map(({ folder, value }) => `${folder}/${value}`));
  assert.deepEqual(await held(fixture), wanted.sort());
  assert.equal(new Set(wanted).size, wanted.length);
}

describe('what services are given', () => {
  test('is counted, and what they cannot be given', async () => {
    await using fixture = await open(ranges(['10.0.0.0/29']));
    await fixture.object('POST', services, service('asked', { clusterIP: '10.0.0.1' }));
    // Any that is left of six.
    await fixture.object('POST', services, service('chosen', { type: 'NodePort' }));
    await assert.rejects(fixture.object('POST', services, service('taken', { clusterIP: '10.0.0.1' })));
    const text = fixture.metrics.render();
    for (const line of [
      'kube_apiserver_clusterip_allocator_allocation_total{cidr="10.0.0.0/29",scope="dynamic"} 1',
      'kube_apiserver_clusterip_allocator_allocation_total{cidr="10.0.0.0/29",scope="static"} 1',
      'kube_apiserver_clusterip_allocator_allocation_errors_total{cidr="10.0.0.0/29",scope="static"} 1',
      'kube_apiserver_nodeport_allocator_allocation_total{scope="dynamic"} 1',
    ]) {
      assert.ok(text.split('\n').includes(line), line);
    }
  });
});

describe('addresses of services', () => {
  test('are chosen from the upper part of the range, shown in both fields, and owned by nobody', async () => {
    await using fixture = await open();
    const made = await fixture.object('POST', services, service('a'));
    const { clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy } = specOf(made);
    assert.match(clusterIP ?? '', /^10\.0\.0\.\d+$/);
    assert.ok(Number(String(clusterIP).split('.')[3]) > 16, clusterIP);
    assert.deepEqual([clusterIPs, ipFamilies, ipFamilyPolicy], [[clusterIP], ['IPv4'], 'SingleStack']);
    assert.equal(JSON.stringify(made.metadata.managedFields).includes('clusterIP'), false);
    await requireConsistent(fixture);
  });

  const refused: readonly (readonly [why: string, clusterIP: string, problem: string])[] = [
    [
      'the network',
      '10.0.0.0',
      'the provided IP (10.0.0.0) is not in the valid range. The range of valid IPs is 10.0.0.0/24',
    ],
    [
      'the broadcast',
      '10.0.0.255',
      'the provided IP (10.0.0.255) is not in the valid range. The range of valid IPs is 10.0.0.0/24',
    ],
    [
      'another range',
      '192.0.2.1',
      'the provided IP (192.0.2.1) is not in the valid range. The range of valid IPs is 10.0.0.0/24',
    ],
    ['one that is taken', '10.0.0.7', 'provided IP is already allocated'],
    ['one that is taken, in another form', '10.0.0.007', 'provided IP is already allocated'],
    ['one that is taken, in IPv6 notation', '::ffff:10.0.0.7', 'provided IP is already allocated'],
  ];
  for (const [why, clusterIP, problem] of refused) {
    test(`are refused: ${why}`, async () => {
      await using fixture = await open();
      await fixture.object('POST', services, service('first', { clusterIP: '10.0.0.7' }));
      for (const query of ['', '?dryRun=All']) {
        const { code, message } = await fixture.refusal('POST', `${services}${query}`, service('a', { clusterIP }));
        assert.equal(code, 422);
        assert.equal(
          message,
          `Service "a" is invalid: spec.clusterIPs: Invalid value: []string{"${clusterIP}"}: failed to allocate IP ${clusterIP}: ${problem}`,
        );
      }
      assert.deepEqual(await held(fixture), ['clusterips/10.0.0.7']);
    });
  }

  const released: readonly (readonly [why: string, release: (fixture: RegistryFixture) => Promise<unknown>])[] = [
    ['with their service', (fixture) => fixture.call('DELETE', `${services}/a`)],
    ['with a collection', (fixture) => fixture.call('DELETE', services)],
    [
      'when it becomes an external name',
      (fixture) => fixture.call('PUT', `${services}/a`, service('a', { type: 'ExternalName', externalName: 'b' })),
    ],
  ];
  for (const [why, release] of released) {
    test(`are released ${why}`, async () => {
      await using fixture = await open();
      await fixture.call('POST', services, service('a', { type: 'NodePort' }));
      assert.equal((await held(fixture)).length, 2);
      await release(fixture);
      assert.deepEqual(await held(fixture), []);
    });
  }

  test('are held until the last finalizer is gone', async () => {
    await using fixture = await open();
    await fixture.call('POST', services, service('a', {}, { finalizers: ['x.io/a'] }));
    await fixture.call('DELETE', `${services}/a`);
    await requireConsistent(fixture);
    assert.equal((await held(fixture)).length, 1);
    await fixture.call('PATCH', `${services}/a`, { metadata: { finalizers: null } });
    assert.deepEqual(await held(fixture), []);
  });

  test('are not held by what is not written', async () => {
    await using fixture = await open();
    const { clusterIP } = specOf(await fixture.object('POST', `${services}?dryRun=All`, service('a')));
    assert.match(clusterIP ?? '', /^10\.0\.0\./);
    await fixture.refusal('POST', services, service('a', { clusterIP: '10.0.0.7', ports: [{ port: 0 }] }));
    await fixture.call('POST', services, service('a', { clusterIP: '10.0.0.7' }));
    assert.equal((await fixture.refusal('POST', services, service('a', { clusterIP: '10.0.0.8' }))).code, 409);
    await fixture.call('PUT', `${services}/a?dryRun=All`, service('a', { type: 'ExternalName', externalName: 'b' }));
    await fixture.call('DELETE', `${services}/a?dryRun=All`);
    assert.deepEqual(await held(fixture), ['clusterips/10.0.0.7']);
  });

  test('stay when a client sends what it created', async () => {
    await using fixture = await open();
    const made = await fixture.object('POST', services, service('a', { type: 'NodePort' }));
    const kept = await fixture.object('PUT', `${services}/a`, service('a', { type: 'NodePort' }));
    assert.deepEqual(specOf(kept), specOf(made));
    assert.equal(kept.metadata.resourceVersion, made.metadata.resourceVersion);
  });

  test('are none of headless services and external names', async () => {
    await using fixture = await open();
    const headless = specOf(
      await fixture.object('POST', services, service('a', { clusterIP: 'None', selector: { a: 'b' } })),
    );
    assert.deepEqual([headless['clusterIPs'], headless['ipFamilies']], [['None'], ['IPv4']]);
    const alone = specOf(await fixture.object('POST', services, service('b', { clusterIP: 'None' })));
    assert.deepEqual([alone['ipFamilyPolicy'], alone['ipFamilies']], ['RequireDualStack', ['IPv4', 'IPv6']]);
    const external = specOf(
      await fixture.object('POST', services, service('c', { type: 'ExternalName', externalName: 'x' })),
    );
    assert.deepEqual([external['clusterIP'], external['ipFamilies']], [undefined, undefined]);
    assert.deepEqual(await held(fixture), []);
    await fixture.object('PUT', `${services}/c`, service('c'));
    assert.equal((await held(fixture)).length, 1);
  });

  test('end: the last ones are found, and then there are none', async () => {
    await using fixture = await open(ranges(['10.0.0.0/29']));
    const found = new Set<unknown>();
    for (let n = 0; n < 6; n++)
      found.add(specOf(await fixture.object('POST', services, service(`s${n}`)))['clusterIP']);
    assert.deepEqual(
      [...found].sort(),
      [1, 2, 3, 4, 5, 6].map((last) => `10.0.0.${last}`),
    );
    const { code, reason, message } = await fixture.refusal('POST', services, service('s6'));
    assert.deepEqual([code, reason], [500, 'InternalError']);
    assert.equal(message, 'Internal error occurred: failed to allocate a serviceIP: range is full');
    await requireConsistent(fixture);
  });
});

describe('endpoints', () => {
  const endpoints = '/api/v1/namespaces/n/endpoints';
  const of = (name: string, metadata: Spec = {}) => ({ metadata: { name, ...metadata } });

  test('go with the service of their name, and only with it', async () => {
    await using fixture = await open();
    for (const name of ['a', 'b']) {
      await fixture.call('POST', services, service(name, { clusterIP: 'None' }));
      await fixture.call('POST', endpoints, of(name));
    }
    await fixture.call('DELETE', `${services}/a?dryRun=All`);
    await fixture.call('PUT', `${services}/a`, service('a', { clusterIP: 'None', sessionAffinity: 'ClientIP' }));
    await fixture.object('GET', `${endpoints}/a`);
    await fixture.call('DELETE', `${services}/a`);
    assert.equal((await fixture.refusal('GET', `${endpoints}/a`)).code, 404);
    await fixture.object('GET', `${endpoints}/b`);
  });

  test('stay if a finalizer holds them', async () => {
    await using fixture = await open();
    await fixture.call('POST', services, service('a'));
    await fixture.call('POST', endpoints, of('a', { finalizers: ['x.io/a'] }));
    await fixture.call('DELETE', `${services}/a`);
    await fixture.object('GET', `${endpoints}/a`);
    assert.deepEqual(await held(fixture), []);
  });
});

describe('ports of nodes', () => {
  const node = (name: string, nodePort?: number, others: Spec = {}) =>
    service(name, { type: 'NodePort', ports: [{ port: 80, ...(nodePort !== undefined && { nodePort }) }], ...others });

  test('are shared by the protocols of a port, and by nobody else', async () => {
    await using fixture = await open();
    const ports = [
      { name: 'a', port: 53 },
      { name: 'b', port: 53, protocol: 'UDP' },
      { name: 'c', port: 54 },
    ];
    const [first, second, third] = portsOf(
      await fixture.object('POST', services, service('a', { type: 'NodePort', ports })),
    );
    assert.equal(first?.nodePort, second?.nodePort);
    assert.notEqual(first?.nodePort, third?.nodePort);
    assert.ok((first?.nodePort ?? 0) >= 30_086);
    const udp = { ...ports[1], nodePort: first?.nodePort };
    const { message } = await fixture.refusal('POST', services, service('b', { type: 'NodePort', ports: [udp] }));
    assert.match(message, /spec\.ports\[0\]\.nodePort: Invalid value: \d+: provided port is already allocated$/);
    await requireConsistent(fixture);
  });

  test('outside of the range are refused', async () => {
    await using fixture = await open();
    const { code, message } = await fixture.refusal('POST', services, node('a', 80));
    assert.equal(code, 422);
    assert.equal(
      message,
      'Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
    );
  });

  test('two ports of a service cannot have one of them', async () => {
    await using fixture = await open();
    const ports = [80, 81].map((port) => ({ name: `p${port}`, port, nodePort: 30_001 }));
    const { message } = await fixture.refusal('POST', services, service('a', { type: 'NodePort', ports }));
    assert.match(message, /spec\.ports\[1\]\.nodePort: Invalid value: 30001: provided port is already allocated/);
  });

  test('change with their service', async () => {
    await using fixture = await open();
    await fixture.call('POST', services, node('a', 30_001));
    await fixture.call('PUT', `${services}/a`, node('a', 30_002));
    await requireConsistent(fixture);
    await fixture.call('POST', services, node('b', 30_001));
    assert.match(
      (await fixture.refusal('PUT', `${services}/b`, node('b', 30_002))).message,
      /provided port is already allocated/,
    );
    await fixture.call('PUT', `${services}/a`, service('a'));
    await fixture.call('PUT', `${services}/b`, node('b', 30_002));
    await requireConsistent(fixture);
  });

  test('are given to load balancers unless they want none, and to their health checks', async () => {
    await using fixture = await open();
    const balancer = { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, externalTrafficPolicy: 'Local' };
    const made = await fixture.object('POST', services, service('a', balancer));
    assert.equal(portsOf(made)[0]?.nodePort, undefined);
    const { healthCheckNodePort } = specOf(made);
    assert.ok(Number(healthCheckNodePort) >= 30_000);
    const given = { ...balancer, healthCheckNodePort };
    const { code, message } = await fixture.refusal('POST', services, service('b', given));
    assert.equal(code, 500);
    assert.equal(
      message,
      `Internal error occurred: failed to allocate requested HealthCheck NodePort ${healthCheckNodePort}: provided port is already allocated`,
    );
    await fixture.call('PUT', `${services}/a`, service('a', { type: 'LoadBalancer' }));
    await requireConsistent(fixture);
    assert.equal((await held(fixture)).includes(`nodeports/${healthCheckNodePort}`), false);
  });

  test('end', async () => {
    await using fixture = await open(ranges(['10.0.0.0/24'], 30_000, 30_002));
    for (const name of ['a', 'b', 'c']) await fixture.call('POST', services, node(name));
    const { code, message } = await fixture.refusal('POST', services, node('d'));
    assert.deepEqual([code, message], [500, 'Internal error occurred: failed to allocate a nodePort: range is full']);
    await fixture.call('DELETE', `${services}/b`);
    await fixture.call('POST', services, node('d'));
    await requireConsistent(fixture);
  });
});

describe('two families', () => {
  const both = ['10.0.0.0/24', 'fd00::/108'];
  const rows: readonly (readonly [spec: Spec, families: readonly string[], policy: string])[] = [
    [{}, ['IPv4'], 'SingleStack'],
    [{ ipFamilies: ['IPv6'] }, ['IPv6'], 'SingleStack'],
    [{ ipFamilyPolicy: 'PreferDualStack' }, ['IPv4', 'IPv6'], 'PreferDualStack'],
    [{ ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6'] }, ['IPv6', 'IPv4'], 'RequireDualStack'],
    [{ clusterIP: 'fd00::7' }, ['IPv6'], 'SingleStack'],
    [{ ipFamilyPolicy: 'PreferDualStack', clusterIP: 'fd00::7' }, ['IPv6', 'IPv4'], 'PreferDualStack'],
  ];
  for (const [spec, families, policy] of rows) {
    test(`of ${JSON.stringify(spec)}`, async () => {
      await using fixture = await open(ranges(both));
      const made = specOf(await fixture.object('POST', services, service('a', spec)));
      assert.deepEqual([made['ipFamilies'], made['ipFamilyPolicy']], [families, policy]);
      const found = (made['clusterIPs'] as unknown as readonly string[]).map((address) =>
        address.startsWith('10.') ? 'IPv4' : 'IPv6',
      );
      assert.deepEqual(found, families);
      await requireConsistent(fixture);
    });
  }

  const refused: readonly (readonly [clusterIps: readonly string[], spec: Spec, problem: string])[] = [
    [
      both,
      { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'SingleStack' },
      `spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified`,
    ],
    [
      ['10.0.0.0/24'],
      { ipFamilyPolicy: 'RequireDualStack' },
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    ],
    [
      ['10.0.0.0/24'],
      { ipFamilies: ['IPv6'] },
      'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ],
    [
      ['10.0.0.0/24'],
      { clusterIP: 'fd00::7' },
      'spec.clusterIPs[0]: Invalid value: []string{"fd00::7"}: IPv6 is not configured on this cluster',
    ],
    [
      ['10.0.0.0/24'],
      { ipFamilies: ['x'] },
      'spec.ipFamilies[0]: Unsupported value: "x": supported values: "IPv4", "IPv6"',
    ],
  ];
  for (const [clusterIps, spec, problem] of refused) {
    test(`refused: ${problem}`, async () => {
      await using fixture = await open(ranges(clusterIps));
      const { message } = await fixture.refusal('POST', services, service('a', spec));
      assert.equal(message, `Service "a" is invalid: ${problem}`);
    });
  }

  test('come and go by the policy', async () => {
    await using fixture = await open(ranges(both));
    const put = async (spec: Spec) => specOf(await fixture.object('PUT', `${services}/a`, service('a', spec)));
    const single = specOf(await fixture.object('POST', services, service('a')));
    const double = await put({ ipFamilyPolicy: 'PreferDualStack' });
    assert.equal(double['clusterIP'], single['clusterIP']);
    assert.deepEqual(double['ipFamilies'], ['IPv4', 'IPv6']);
    await requireConsistent(fixture);
    const kept = { clusterIP: single['clusterIP'], clusterIPs: single['clusterIPs'], ipFamilies: ['IPv4'] };
    const { message } = await fixture.refusal(
      'PUT',
      `${services}/a`,
      service('a', { ...kept, ipFamilyPolicy: 'PreferDualStack' }),
    );
    assert.match(message, /must be 'SingleStack' to release the secondary cluster IP/);
    const again = await put({ ipFamilyPolicy: 'SingleStack' });
    assert.deepEqual([again['clusterIPs'], again['ipFamilies']], [single['clusterIPs'], ['IPv4']]);
    await requireConsistent(fixture);
  });
});

/** Two servers, each with a connection of its own where the store is one that several share. */
const stores: readonly (readonly [name: string, skip: string | false, open: () => Promise<SharedStore>])[] = [
  [
    'memory',
    false,
    async () => {
      const store = openMemoryStore();
      return { stores: [store, store], close: async () => {} };
    },
  ],
  [
    'etcd',
    etcdMissing,
    async () => {
      const etcd = await startEtcd();
      const opened = () => openEtcdStore({ endpoints: [etcd.endpoint], clock: systemClock, logger: silentLogger });
      return { stores: [await opened(), await opened()], close: () => etcd.stop() };
    },
  ],
];

interface SharedStore {
  readonly stores: readonly [Store, Store];
  close(): Promise<void>;
}

for (const [name, skip, openStores] of stores) {
  test(`servers of a store give nothing twice, and use all that there is: ${name}`, { skip }, async () => {
    const shared = await openStores();
    try {
      await useAll(shared.stores);
    } finally {
      await shared.close();
    }
  });
}

async function useAll([first, second]: SharedStore['stores']): Promise<void> {
  const serviceRanges = ranges(['10.0.0.0/26'], 30_000, 30_063);
  await using one = await RegistryFixture.open({ store: first, serviceRanges });
  await using other = await RegistryFixture.open({ store: second, serviceRanges });
  const of = (n: number) => (n % 2 ? one : other);
  const outcomes = await Promise.allSettled(
    Array.from({ length: 80 }, (_, n) => of(n).call('POST', services, service(`s${n}`, { type: 'NodePort' }))),
  );
  const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [String(each.reason.message)] : []));
  assert.equal(outcomes.length - refused.length, 62);
  for (const message of refused) assert.match(message, /range is full$/);
  await requireConsistent(one);
  const { items } = await one.list(services);
  // Each is changed by one server and removed by the other.
  const bare = (at: string) => service(at, { type: 'ExternalName', externalName: 'x' });
  await Promise.all(
    items.slice(0, 20).map(({ metadata: { name = '' } }, n) => of(n).call('PUT', `${services}/${name}`, bare(name))),
  );
  await requireConsistent(other);
  await Promise.all(items.map(({ metadata: { name = '' } }, n) => of(n + 1).call('DELETE', `${services}/${name}`)));
  assert.deepEqual(await held(one), []);
}
