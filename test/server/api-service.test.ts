import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { until, within } from '../../src/base/waits-fixture.ts';
import type { ApiClient } from '../../src/client/api-client.ts';
import { orch } from '../../src/dialect/orch.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { ApiService } from '../../src/server/upkeep/api-service.ts';
import { serverUser } from '../../src/server/upkeep/bootstrap.ts';
import { Lead } from '../../src/server/upkeep/lead.ts';
import { ServerPresence } from '../../src/server/upkeep/server-presence.ts';
import { systemEnvironment } from '../../src/server/wiring/environment.ts';
import { startServer } from '../../src/server/wiring/start-server.ts';
import { DecoratedStore } from '../../src/store/decorated-store.ts';
import { openMemoryStore } from '../../src/store/drivers/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { serverForSuite } from '../support/in-process-server.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { listeningConfiguration } from '../support/server-configuration.ts';

const services = '/api/v1/namespaces/default/services/orch';
const endpoints = '/api/v1/namespaces/default/endpoints/orch';
const slices = '/apis/discovery.orch.io/v1/namespaces/default/endpointslices/orch';

describe('the service of the API', () => {
  const running = serverForSuite();
  const client = (): ApiClient => running.server.clientAs(serverUser, 'test');
  const keeper = (
    address: string | undefined,
    others: Partial<ConstructorParameters<typeof ApiService>[0]> = {},
  ): ApiService =>
    new ApiService({
      ...{ client: client(), dialect: orch, clock: new ManualClock(), logger: silentLogger },
      ...{ clusterIp: '10.0.0.1', port: 6443, nodePort: 0, address, servers: undefined },
      ...others,
    });
  const clear = async (): Promise<void> => {
    for (const path of [services, endpoints, slices])
      await client()
        .delete(path)
        .catch(() => {});
  };
  const addressesOf = async (): Promise<readonly string[]> => {
    const { endpoints: found } = (await client().get(slices)) as ApiObject & {
      readonly endpoints: readonly { readonly addresses: readonly string[] }[];
    };
    const subsets = (await client().get(endpoints))['subsets'] as readonly {
      readonly addresses: readonly { readonly ip: string }[];
    }[];
    const shown = subsets.flatMap((subset) => subset.addresses.map(({ ip }) => ip));
    assert.deepEqual(
      found.flatMap(({ addresses }) => addresses),
      shown,
    );
    return shown;
  };

  test('is made with its endpoints, and again when it is gone; what it says is left as it is', async () => {
    await clear();
    const service = keeper('192.0.2.1');
    await service.sync();
    const made = await client().get(services);
    assert.deepEqual(made.metadata.labels, { component: 'apiserver', provider: 'orch' });
    assert.deepEqual(made['spec'], {
      ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: 6443 }],
      clusterIP: '10.0.0.1',
      clusterIPs: ['10.0.0.1'],
      type: 'ClusterIP',
      sessionAffinity: 'None',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
    });
    assert.deepEqual((await client().get(slices)).metadata.labels, { 'orch.io/service-name': 'orch' });
    assert.deepEqual((await client().get(endpoints)).metadata.labels, { 'endpointslice.orch.io/skip-mirror': 'true' });
    assert.deepEqual(await addressesOf(), ['192.0.2.1']);
    await client().mergePatch(services, { spec: { sessionAffinity: 'ClientIP' } });
    const before = await Promise.all([services, endpoints, slices].map((path) => client().get(path)));
    await service.sync();
    assert.deepEqual(await Promise.all([services, endpoints, slices].map((path) => client().get(path))), before);
    for (const path of [services, endpoints, slices]) {
      await client().delete(path);
      await service.sync();
      await client().get(path);
    }
  });

  test('has as endpoints the servers that share the store', async () => {
    await clear();
    const store = openMemoryStore();
    const clock = new ManualClock();
    const of = (address: string) => {
      const parts = { store, clock, random: systemRandom, logger: silentLogger, hostname: 'a', lead: new Lead(true) };
      const presence = new ServerPresence(parts);
      return { presence, service: keeper(address, { clock, servers: presence }) };
    };
    const [one, other] = [of('192.0.2.1'), of('192.0.2.2')];
    await Promise.all([one.service.sync(), other.service.sync()]);
    for (const { service } of [one, other]) await service.sync();
    assert.deepEqual(await addressesOf(), ['192.0.2.1', '192.0.2.2']);
    await one.presence.close();
    await other.service.sync();
    assert.deepEqual(await addressesOf(), ['192.0.2.2']);
    await store.close();
  });

  for (const [why, address] of [
    ['a loopback address', '127.0.0.1'],
    ['a link-local address', '169.254.1.1'],
    ['an address of another family', '2001:db8::1'],
    ['no address', undefined],
  ] as const) {
    test(`has no endpoints for ${why}`, async () => {
      await clear();
      await keeper(address).sync();
      await client().get(services);
      for (const path of [endpoints, slices]) await assert.rejects(client().get(path), { code: 404 });
    });
  }

  test('has a port of the nodes if one is asked for, and an address of IPv6', async () => {
    await clear();
    await keeper('192.0.2.1', { nodePort: 30_443 }).sync();
    const { type, ports } = (await client().get(services))['spec'] as {
      type: string;
      ports: readonly { nodePort: number }[];
    };
    assert.deepEqual([type, ports[0]?.nodePort], ['NodePort', 30_443]);
  });
});

test('a server that starts makes it, with the first address of its range', async () => {
  await using server = await OrchProcess.start({
    flags: ['--service-cluster-ip-range=192.168.7.0/24', '--advertise-address=192.0.2.7'],
  });
  await until(async () => (await server.get(endpoints)).status === 200, 'the endpoints are there');
  const { json } = await server.get<{ readonly spec: { readonly clusterIP: string } }>(services);
  assert.equal(json.spec.clusterIP, '192.168.7.1');
});

/** A store in memory that can hold writes back. */
class HeldStore extends DecoratedStore {
  readonly reached = Promise.withResolvers<void>();
  readonly gate = Promise.withResolvers<void>();
  holds = false;

  override async batch(...args: Parameters<Store['batch']>): ReturnType<Store['batch']> {
    await this.#held();
    return super.batch(...args);
  }

  override async create(...args: Parameters<Store['create']>): ReturnType<Store['create']> {
    await this.#held();
    return super.create(...args);
  }

  async #held(): Promise<void> {
    if (!this.holds) return;
    this.reached.resolve();
    await this.gate.promise;
  }
}

test('a server that stops while it makes it ends that before the store', async () => {
  const complaints: string[] = [];
  const complain = (message: string): void => void complaints.push(message);
  const store = new HeldStore(openMemoryStore());
  const server = await startServer(
    listeningConfiguration({
      apiService: { address: '192.0.2.7', nodePort: 0 },
      logger: { ...silentLogger, warn: complain, error: complain },
    }),
    { ...systemEnvironment, openStore: async () => store },
  );
  store.holds = true;
  const stopped = server.stop();
  await within(store.reached.promise, 'the service is written');
  // All that closes at once has closed by then.
  for (let turn = 0; turn < 100; turn++) await setImmediate();
  store.gate.resolve();
  await stopped;
  assert.deepEqual(complaints, []);
});
