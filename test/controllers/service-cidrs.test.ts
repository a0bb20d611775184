import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { ManualClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { multiCidrGate } from '../../src/kinds/networking/ip-address.ts';
import { controllersForEach } from '../support/registry-controllers.ts';

/** The controller of ServiceCIDRs, over a registry. */

const ranges = '/apis/networking.orch.io/v1beta1/servicecidrs';
const addresses = '/apis/networking.orch.io/v1beta1/ipaddresses';
const finalizer = 'networking.orch.io/service-cidr-finalizer';
const managed = { 'ipaddress.orch.io/managed-by': 'ipallocator.orch.io' };

let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock();
});
const controllers = controllersForEach(() => clock);
const object = (method: string, path: string, body?: object) => controllers.fixture.object(method, path, body);
const start = (features = new Set([multiCidrGate])): void =>
  controllers.start(['service-cidr-controller'], { features });

const makeRange = (name: string, cidrs: readonly string[]) =>
  object('POST', ranges, { metadata: { name }, spec: { cidrs } });
const makeAddress = (name: string, labels: object = managed) =>
  object('POST', addresses, {
    metadata: { name, labels },
    spec: { parentRef: { resource: 'services', namespace: 'n', name: 's' } },
  });
const remove = (path: string): Promise<unknown> => controllers.fixture.call('DELETE', path);

interface Shown {
  readonly metadata: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly conditions?: readonly Readonly<Record<string, string>>[] };
}

const shown = async (name: string): Promise<Shown> => (await object('GET', `${ranges}/${name}`)) as Shown;
const conditionOf = async (name: string): Promise<string> =>
  ((await shown(name)).status?.conditions ?? [])
    .map(({ type, status, reason, message }) => `${type} ${status} ${reason} ${message}`)
    .join();
const says = (name: string, text: string): Promise<void> =>
  until(async () => (await conditionOf(name)).startsWith(text), `${name} does not say ${text}`);
const isThere = (name: string): Promise<boolean> =>
  shown(name).then(
    () => true,
    () => false,
  );
/** The grace of a deletion passes until the range goes. */
const goes = (name: string): Promise<void> =>
  until(async () => {
    clock.advance(1_000);
    return !(await isThere(name));
  }, `${name} stays`);

describe('a ServiceCIDR', () => {
  it('is called ready, and gets the finalizer', async () => {
    await makeRange('a', ['10.0.0.0/24']);
    start();
    await says('a', 'Ready True');
    assert.equal(await conditionOf('a'), 'Ready True  orch Service CIDR is ready');
    assert.deepEqual((await shown('a')).metadata.finalizers, [finalizer]);
    const requests = controllers.transport.requests.length;
    await makeRange('b', ['10.1.0.0/24']);
    await says('b', 'Ready True');
    const others = controllers.transport.requests.slice(requests).filter((each) => /servicecidrs\/a/.test(each));
    assert.deepEqual(others, [], 'what is ready is left alone');
  });

  it('is left alone without the gate', async () => {
    await makeRange('a', ['10.0.0.0/24']);
    start(new Set());
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(controllers.transport.requests, []);
  });

  it('that is deleted goes after ten seconds', async () => {
    await makeRange('a', ['10.0.0.0/24']);
    start();
    await says('a', 'Ready True');
    await makeAddress('10.1.0.7');
    await makeAddress('10.0.0.8', {});
    await remove(`${ranges}/a`);
    clock.advance(8_000);
    assert.ok(await isThere('a'));
    await goes('a');
  });

  it('that is deleted waits for the last address that it alone has', async () => {
    await makeRange('a', ['10.0.0.0/24', 'fd00::/112']);
    start();
    await says('a', 'Ready True');
    await makeAddress('10.0.0.7');
    await makeAddress('fd00::7');
    await remove(`${ranges}/a`);
    await says('a', 'Ready False Terminating There are still IPAddresses referencing the ServiceCIDR');
    await remove(`${addresses}/10.0.0.7`);
    clock.advance(60_000);
    assert.ok(await isThere('a'));
    await remove(`${addresses}/fd00::7`);
    await goes('a');
  });

  for (const [what, cidr] of [
    ['a larger range', '10.0.0.0/16'],
    ['the same range', '10.0.0.0/24'],
    ['a part with all that is used', '10.0.0.0/28'],
  ] as const) {
    it(`that is deleted goes when another ServiceCIDR has ${what}`, async () => {
      await makeRange('a', ['10.0.0.0/24']);
      start();
      await says('a', 'Ready True');
      await makeAddress('10.0.0.7');
      await remove(`${ranges}/a`);
      await says('a', 'Ready False Terminating');
      await makeRange('b', [cidr]);
      await goes('a');
    });
  }

  it('is not covered by one that is being deleted as well, nor by a part without the address', async () => {
    for (const [name, cidr] of [
      ['a', '10.0.0.0/24'],
      ['b', '10.0.0.0/16'],
      ['c', '10.0.0.128/25'],
    ] as const) {
      await makeRange(name, [cidr]);
    }
    start();
    for (const name of ['a', 'b', 'c']) await says(name, 'Ready True');
    await makeAddress('10.0.0.7');
    for (const name of ['a', 'b']) await remove(`${ranges}/${name}`);
    for (const name of ['a', 'b']) await says(name, 'Ready False Terminating');
    clock.advance(60_000);
    for (const name of ['a', 'b']) assert.ok(await isThere(name));
  });
});
