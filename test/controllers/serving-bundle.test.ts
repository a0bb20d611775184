import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { noJitter } from '../../src/base/time/backoff-fixture.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { ApiClient } from '../../src/client/api-client.ts';
import { KeptEvents } from '../../src/client/event-recorder-fixture.ts';
import type { ControllerContext } from '../../src/controllers/controller.ts';
import { ControllerMetrics } from '../../src/controllers/controller-metrics.ts';
import { startServingBundlePublisher } from '../../src/controllers/serving-bundle/serving-bundle-publisher.ts';
import { orch } from '../../src/dialect/orch.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { internalError, notFound } from '../../src/meta/status-error.ts';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { RegistryFixture } from '../../src/registry/registry-fixture.ts';
import { RegistryTransport } from '../support/registry-transport.ts';

/** The controller that publishes the authority of the server as a trust bundle, over a registry. */

const group = 'certificates.orch.io';
const path = `/apis/${group}/v1alpha1/clustertrustbundles`;
const signerName = 'orch.io/apiserver-serving';
const authority = makeCertificate({ name: 'authority', authority: true }).cert;
const other = makeCertificate({ name: 'other', authority: true }).cert;
const pollMs = 30_000;

let fixture: RegistryFixture;
let transport: RegistryTransport;
let clock: ManualClock;
let events: KeptEvents;
let warnings: string[];
let tell: (groups: ReadonlySet<string>) => void;
let stop: () => void;

beforeEach(async () => {
  fixture = await RegistryFixture.open();
  transport = new RegistryTransport(fixture);
  clock = new ManualClock();
  events = new KeptEvents();
  warnings = [];
});
afterEach(async () => {
  stop();
  await fixture[Symbol.asyncDispose]();
});

function start(rootAuthority = authority, more: Partial<ControllerContext> = {}): void {
  const client = new ApiClient(transport, 'publisher');
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  const context = { name: 'publisher', client, reader: client, events, clock, random: noJitter, logger, dialect: orch };
  const running = startServingBundlePublisher({ ...context, rootAuthority, ...more });
  stop = () => running.close();
}

const following: Partial<ControllerContext> = {
  onGroupsChanged(listener) {
    tell = listener;
    return { close() {} };
  },
};

const make = (name: string, trustBundle: string, signer = signerName): Promise<ApiObject> =>
  fixture.object('POST', path, { metadata: { name }, spec: { signerName: signer, trustBundle } });

interface Items {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly spec: { readonly trustBundle: string };
  }[];
}

/** Contents of the signer's bundles, by name. */
async function bundles(): Promise<ReadonlyMap<string, string>> {
  const list = (await new ApiClient(new RegistryTransport(fixture), 'test').get<Items>(path)).items;
  return new Map(list.map(({ metadata, spec }) => [metadata.name, spec.trustBundle]));
}
const publishes = (...contents: readonly string[]): Promise<void> =>
  until(async () => [...(await bundles()).values()].sort().join() === [...contents].sort().join(), 'other bundles');
const away = (reason: 'absent' | 'broken'): void => {
  transport.failure = ({ target }) => {
    if (!target.startsWith(`/apis/${group}`)) return undefined;
    return reason === 'absent' ? notFound({ group: '', resource: group }, '') : internalError(new Error('away'));
  };
};
const asked = (what: RegExp): number => transport.requests.filter((request) => what.test(request)).length;

describe('the trust bundle of the server', () => {
  it('is named after its content, and the only one of its signer', async () => {
    await make('orch.io:apiserver-serving:old', other);
    await make('example.com:signer:a', other, 'example.com/signer');
    start();
    await publishes(authority, other);
    assert.deepEqual([...(await bundles()).keys()].map((name) => name.replace(/[0-9a-f]{24}$/, '<hash>')).sort(), [
      'example.com:signer:a',
      'orch.io:apiserver-serving:<hash>',
    ]);
    // Whoever uses the old one finds the new one when it goes.
    const writes = transport.requests.filter((request) => !request.startsWith('GET'));
    assert.deepEqual(
      writes.map((request) => request.split(' ')[0]),
      ['POST', 'DELETE'],
    );
  });

  it('passes are counted, by the status that they ended with', async () => {
    const metrics = new Metrics();
    let failures = 2;
    transport.failure = ({ method }) =>
      method === 'POST' && failures-- > 0 ? internalError(new Error('not now')) : undefined;
    start(authority, { trustBundlePublished: new ControllerMetrics(metrics, 'manager').trustBundlePublished });
    const count = (code: number): string | undefined =>
      new RegExp(`^clustertrustbundle_publisher_sync_total\\{code="${code}"\\} (\\d+)$`, 'm').exec(
        metrics.render(),
      )?.[1];
    await until(() => {
      clock.advance(60_000);
      return Number(count(200)) >= 1;
    }, 'no pass is counted');
    assert.equal(count(500), '2');
  });

  it('is another one for another authority', async () => {
    start();
    await publishes(authority);
    const [first] = (await bundles()).keys();
    stop();
    start(other);
    await publishes(other);
    const [second] = (await bundles()).keys();
    assert.notEqual(first, second);
  });

  it('that is as it should be is not written', async () => {
    start();
    await publishes(authority);
    stop();
    const before = asked(/^(POST|PUT|DELETE)/);
    start();
    const watches = asked(/^GET .*watch=true/);
    await until(() => asked(/^GET .*watch=true/) > watches, 'it is not followed');
    assert.equal(asked(/^(POST|PUT|DELETE)/), before);
  });

  it('is not published where trust bundles are not served, and is as soon as discovery has them', async () => {
    away('absent');
    start();
    await until(() => clock.pending > 0, 'no further look is planned');
    assert.equal(asked(/clustertrustbundles/), 0);
    transport.failure = () => undefined;
    clock.advance(pollMs - 1);
    assert.equal(asked(/^GET \/apis\/certificates\.orch\.io$/), 1);
    clock.advance(1);
    await publishes(authority);
  });

  it('is published when the server tells of its resource, before the next look', async () => {
    away('absent');
    start(authority, following);
    await until(() => asked(/^GET \/apis\/certificates\.orch\.io$/) === 1, 'nobody looks');
    transport.failure = () => undefined;
    tell(new Set(['apps.orch.io']));
    tell(new Set([group]));
    await publishes(authority);
    assert.equal(asked(/^GET \/apis\/certificates\.orch\.io$/), 2);
  });

  it('is not followed any more once its resource has gone', async () => {
    start(authority, following);
    await publishes(authority);
    away('absent');
    tell(new Set([group]));
    await until(() => asked(/^GET \/apis\/certificates\.orch\.io$/) === 2, 'nobody looks');
    await until(() => fixture.cache.watchers === 0, 'the watch goes on');
  });

  it('is published once discovery can be read', async () => {
    away('broken');
    start(authority, following);
    await until(() => clock.pending > 0, 'it is not tried again');
    transport.failure = () => undefined;
    clock.advance(60_000);
    await publishes(authority);
    assert.deepEqual(warnings, []);
  });

  it('of a certificate that is no authority is refused: an event and a warning say so, and the old one stays', async () => {
    await make('orch.io:apiserver-serving:old', other);
    const leaf = makeCertificate({}).cert;
    start(leaf);
    await until(() => events.events.length > 0, 'there is no event');
    const [{ about, type, reason, message }] = events.events as [(typeof events.events)[0] & object];
    assert.deepEqual([about.kind, type, reason], ['ClusterTrustBundle', 'Warning', 'InvalidAuthority']);
    assert.match(message, /spec\.trustBundle: .*entry 0 does not have the CA bit set/);
    assert.deepEqual(warnings, ['the authority of the server cannot be published as a trust bundle']);
    assert.deepEqual([...(await bundles()).keys()], ['orch.io:apiserver-serving:old']);
    assert.equal(clock.pending, 1, 'nothing but the next look at discovery is planned');
  });

  for (const [what, method] of [
    ['created', 'POST'],
    ['deleted', 'DELETE'],
  ] as const) {
    it(`that cannot be ${what} for a while is, later`, async () => {
      await make('orch.io:apiserver-serving:old', other);
      transport.failure = (request) => (request.method === method ? internalError(new Error('away')) : undefined);
      start(authority, following);
      await until(() => asked(new RegExp(`^${method} `)) > 0 && clock.pending > 1, 'it is not tried again');
      transport.failure = () => undefined;
      clock.advance(60_000);
      await publishes(authority);
    });
  }
});
