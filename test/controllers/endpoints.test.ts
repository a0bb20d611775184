import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { formatTime } from '../../src/meta/time.ts';
import { controllersForEach } from '../support/registry-controllers.ts';
import { podsPath, Workloads } from '../support/workloads.ts';

/** Endpoints and slices of services. The test does what nodes would. */
const controllers = controllersForEach();
const work = new Workloads(controllers);
const core = '/api/v1/namespaces/ns';
const endpoints = `${core}/endpoints`;
const slices = '/apis/discovery.orch.io/v1/namespaces/ns/endpointslices';
const trigger = 'endpoints.orch.io/last-change-trigger-time';

const ofKind = {
  endpoint: {
    path: endpoints,
    addressesOf: (object: ApiObject) =>
      ((object['subsets'] ?? []) as readonly { readonly addresses?: readonly { readonly ip: string }[] }[]).flatMap(
        ({ addresses = [] }) => addresses.map(({ ip }) => ip),
      ),
  },
  endpointslice: {
    path: slices,
    addressesOf: (object: ApiObject) =>
      ((object['endpoints'] ?? []) as readonly { readonly addresses: readonly string[] }[]).flatMap(
        ({ addresses }) => addresses,
      ),
  },
};

async function pod(name: string, podIP: string, labels: object = { app: 'x' }): Promise<void> {
  const ports = [
    { name: 'http', containerPort: 8080 },
    { name: 'dns', containerPort: 8081, protocol: 'UDP' },
  ];
  await work.make(podsPath, name, { containers: [{ name: 'c', image: 'i', ports }] }, { labels });
  await work.patch(`${podsPath}/${name}/status`, { status: { podIP, podIPs: [{ ip: podIP }] } });
}

describe('endpoints', () => {
  for (const [controller, { path, addressesOf }] of Object.entries(ofKind)) {
    const seen = async (since: string | undefined, ...expected: readonly string[]): Promise<void> => {
      let found: ApiObject | undefined;
      await until(
        async () => {
          [found] = await work.list(path);
          return (
            found !== undefined &&
            addressesOf(found).toSorted().join() === expected.join() &&
            found.metadata.annotations?.[trigger] === since
          );
        },
        () => JSON.stringify(found),
      );
    };

    it(`of ${controller} say which change they follow`, async () => {
      controllers.start([controller]);
      const spec = { selector: { app: 'x' }, ports: [{ port: 80 }] };
      const service = await work.make(`${core}/services`, 'web', spec);
      await seen(service.metadata.creationTimestamp);
      await pod('other', '10.1.0.9', { app: 'y' });
      await pod('a', '10.1.0.1');
      const readyMs = Date.parse(service.metadata.creationTimestamp ?? '') + 60_000;
      await work.ready('a', readyMs);
      await seen(formatTime(readyMs), '10.1.0.1');
    });
  }

  it('with ports by name have those of their protocol', async () => {
    controllers.start(['endpoint']);
    await pod('a', '10.1.0.1');
    await work.ready('a');
    const ports = [
      { name: 't', port: 80, targetPort: 'http' },
      { name: 'u', port: 80, targetPort: 'dns', protocol: 'UDP' },
      { name: 'other', port: 82, targetPort: 'http', protocol: 'UDP' },
      { name: 'absent', port: 81, targetPort: 'none' },
    ];
    await work.make(`${core}/services`, 'web', { selector: { app: 'x' }, ports });
    let found: unknown;
    await until(async () => {
      found = ((await work.list(endpoints))[0]?.['subsets'] as readonly { readonly ports: unknown }[] | undefined)?.[0]
        ?.ports;
      return found !== undefined;
    }, 'no subset');
    assert.deepEqual(found, [
      { name: 't', port: 8080, protocol: 'TCP' },
      { name: 'u', port: 8081, protocol: 'UDP' },
    ]);
  });

  it('are hinted at by zone where traffic is to stay close', async () => {
    controllers.start(['endpointslice']);
    await work.make('/api/v1/nodes', 'n1', {}, { labels: { 'topology.orch.io/zone': 'z' } });
    await pod('a', '10.1.0.1');
    await pod('waits', '10.1.0.2');
    await work.ready('a');
    const spec = { selector: { app: 'x' }, ports: [{ port: 80 }] };
    await work.make(`${core}/services`, 'web', { ...spec, trafficDistribution: 'PreferClose' });
    const hints = async () => {
      const [slice] = await work.list(slices);
      const all = (slice?.['endpoints'] ?? []) as readonly { addresses: readonly string[]; hints?: unknown }[];
      return Object.fromEntries(all.map((each) => [each.addresses[0], each.hints ?? 'none']));
    };
    await until(async () => Object.keys(await hints()).length === 2, 'no endpoints');
    assert.deepEqual(await hints(), { '10.1.0.1': { forZones: [{ name: 'z' }] }, '10.1.0.2': 'none' });
    await work.patch(`${core}/services/web`, { spec: { trafficDistribution: null } });
    await until(async () => (await hints())['10.1.0.1'] === 'none', 'the hint stays');
  });
});
