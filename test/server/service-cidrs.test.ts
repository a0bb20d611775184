import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { until } from '../../src/base/waits-fixture.ts';
import type { ApiClient } from '../../src/client/api-client.ts';
import { hasReason } from '../../src/client/api-client.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import type { ApiServerConfig } from '../../src/server/wiring/config.ts';
import type { ApiServer } from '../../src/server/wiring/create-api-server.ts';
import { defaultFeatures } from '../../src/server/wiring/features.ts';
import { root } from '../support/in-process-server.ts';
import { Lag, SharedStore } from '../support/shared-store.ts';

/** Servers of one store that give services addresses of ServiceCIDRs (KEP-1880). */

const ranges = '/apis/networking.orch.io/v1beta1/servicecidrs';
const addresses = '/apis/networking.orch.io/v1beta1/ipaddresses';
const services = '/api/v1/namespaces/default/services';
const runtimeConfig = new Map([['networking.orch.io/v1beta1', true]]);
const nodePorts = { first: 30_000, last: 32_767 };

const off: Partial<ApiServerConfig> = { runtimeConfig, serviceRanges: { clusterIps: ['10.0.0.0/24'], nodePorts } };
const on: Partial<ApiServerConfig> = {
  ...off,
  features: { ...defaultFeatures, MultiCIDRServiceAllocator: true },
  controllers: { run: ['service-cidr-controller'], rootAuthority: '' },
};

interface Service extends ApiObject {
  readonly spec: { readonly clusterIPs?: readonly string[] };
}
interface List<T = ApiObject> {
  readonly items: readonly T[];
}
interface Range extends ApiObject {
  readonly status?: { readonly conditions?: readonly { readonly status: string; readonly reason: string }[] };
}

const clientOf = (server: ApiServer): ApiClient => server.clientAs(root, 'test');
const service = (name: string, spec: object = {}, metadata: object = {}) => ({
  metadata: { name, ...metadata },
  spec: { ports: [{ port: 80 }], ...spec },
});
const makeRange = (client: ApiClient, name: string, cidrs: readonly string[]) =>
  client.create(ranges, { metadata: { name }, spec: { cidrs } });
const isIn = (prefix: string, { spec: { clusterIPs = [] } }: Service): boolean =>
  clusterIPs[0]?.startsWith(prefix) === true;
const readyOf = async (client: ApiClient, name: string) => {
  const [condition] = (await client.get<Range>(`${ranges}/${name}`)).status?.conditions ?? [];
  return `${condition?.status} ${condition?.reason}`;
};

/** Every service has its IPAddress, at each server, and no two one address. */
async function requireConsistent(...clients: readonly ApiClient[]): Promise<readonly Service[]> {
  let seen: readonly Service[] = [];
  for (const client of clients) {
    const { items } = await client.get<List<Service>>('/api/v1/services');
    const held = items.flatMap(({ spec: { clusterIPs = [] } }) => clusterIPs).sort();
    assert.equal(new Set(held).size, held.length, 'an address was given twice');
    const shown = (await client.get<List>(addresses)).items.map(({ metadata: { name = '' } }) => name).sort();
    assert.deepEqual(shown, held);
    seen = items;
  }
  return seen;
}

/** Whether one more service gets an address. */
const given = (client: ApiClient, index: number): Promise<boolean> =>
  client.create(services, service(`filler${index}`)).then(
    () => true,
    () => false,
  );

describe('addresses of ServiceCIDRs', { timeout: 300_000 }, () => {
  test('are given by two servers at one time, of ranges that come and go, and by one that starts again', async () => {
    await using shared = new SharedStore();
    const [first, second] = [await shared.start(new Lag(), on), await shared.start(new Lag(), on)];
    const [one, two] = [clientOf(first), clientOf(second)];
    await makeRange(one, 'orch', ['10.0.0.0/24']);
    const clients = [one, two];
    const make = (name: string, index: number, spec: object = {}): Promise<Service> =>
      (clients[index % 2] as ApiClient).create<Service>(services, service(name, spec));

    // The default range has 254 addresses: the other one comes while they are given.
    const early = Array.from({ length: 200 }, (_, index) => make(`early${index}`, index));
    await makeRange(two, 'more', ['10.9.0.0/23']);
    await Promise.all(early);
    await until(async () => (await readyOf(one, 'more')) === 'True ', 'the new range is not ready');
    const sameAddress = Array.from({ length: 4 }, (_, index) =>
      make(`same${index}`, index, { clusterIP: '10.9.1.7' }).then(
        () => 'made',
        (error: unknown) => (hasReason(error, 'Invalid') || hasReason(error, 'Conflict') ? 'refused' : String(error)),
      ),
    );
    const late = Array.from({ length: 300 }, (_, index) => make(`late${index}`, index));
    assert.deepEqual((await Promise.all(sameAddress)).sort(), ['made', 'refused', 'refused', 'refused']);
    await Promise.all(late);
    const made = await requireConsistent(one, two);
    assert.equal(made.length, 501);
    for (const prefix of ['10.0.0.', '10.9.'])
      assert.ok(
        made.some((each) => isIn(prefix, each)),
        prefix,
      );

    // A large one is made on the second thread.
    const large = await two.create<Service>(
      services,
      service('large', {}, { annotations: { x: 'y'.repeat(200_000) } }),
    );
    assert.equal(large.spec.clusterIPs?.length, 1);
    await requireConsistent(one, two);

    await two.delete(`${ranges}/more`);
    await until(async () => (await readyOf(one, 'more')) === 'False Terminating', 'it is not said that it is used');
    for (const client of clients) {
      await until(
        async () =>
          client.create(`${services}?dryRun=All`, service('none', { clusterIP: '10.9.1.200' })).then(
            () => false,
            () => true,
          ),
        'a range that is being deleted gives addresses',
      );
    }
    // Until the last address of the range that is left is given.
    for (let index = 0; index < 254 && (await given(one, index)); index++);
    await shared.stop(first);
    const again = clientOf(await shared.start(new Lag(), on));
    for (const client of [again, two]) {
      await assert.rejects(client.create(services, service('none')), /range is full/);
    }
    const kept = made.find((each) => isIn('10.0.0.', each) && each.metadata.name !== 'orch');
    await again.delete(`${services}/${kept?.metadata.name}`);
    const other = await again.create<Service>(services, service('other'));
    assert.ok(other.spec.clusterIPs?.length === 1);
    await requireConsistent(again, two);
  });

  test('are objects from when the gate is on; without it all is as before, and no address is given twice', async () => {
    await using shared = new SharedStore();
    const plain = await shared.start(new Lag(), off);
    const before = clientOf(plain);
    await before.create(services, service('old', { clusterIP: '10.0.0.7' }));
    assert.deepEqual((await before.get<List>(addresses)).items, []);
    const gated = await shared.start(new Lag(), on);
    const client = clientOf(gated);
    // The server looks soon after its start.
    await until(async () => (await client.get<List>(addresses)).items.length === 1, 'the old service has no IPAddress');
    await client.create(services, service('new', { clusterIP: '10.0.0.8' }));
    await requireConsistent(client);
    for (const clusterIP of ['10.0.0.7', '10.0.0.8']) {
      for (const each of [before, client]) {
        await assert.rejects(each.create(services, service('taken', { clusterIP })), /already allocated/);
      }
    }
    await shared.stop(gated);
    await before.delete(`${services}/new`);
    await before.create(services, service('reused', { clusterIP: '10.0.0.8' }));
    assert.equal((await before.get<List>(addresses)).items.length, 2, 'they are left as they are');
    const roles = '/apis/rbac.authorization.orch.io/v1/clusterroles';
    assert.ok(await before.find(`${roles}/system:controller:service-cidrs-controller`), 'the role stays');
    // Switched on again: the IPAddress is given to the service that has the address now.
    const last = clientOf(await shared.start(new Lag(), on));
    const parentOf = async (): Promise<string> => JSON.stringify(await last.find(`${addresses}/10.0.0.8`)) ?? '';
    await until(async () => /"name":"reused"/.test(await parentOf()), 'the IPAddress is not mended');
    await requireConsistent(last);
  });

  test('are those of the configuration where the kinds are not served', async () => {
    await using shared = new SharedStore();
    const warned: string[] = [];
    const logger = { ...silentLogger, warn: (text: string) => void warned.push(text) };
    const client = clientOf(await shared.start(new Lag(), { ...on, logger, runtimeConfig: new Map() }));
    assert.ok(warned.some((text) => /^ServiceCIDRs and IPAddresses are not served/.test(text)));
    const made = await client.create<Service>(services, service('a'));
    assert.ok(isIn('10.0.0.', made));
    await assert.rejects(client.get(addresses), /could not find the requested resource/);
  });
});
