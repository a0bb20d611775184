import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { noJitter } from '../../src/base/time/backoff-fixture.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { ApiClient } from '../../src/client/api-client.ts';
import { KeptEvents } from '../../src/client/event-recorder-fixture.ts';
import { startGarbageCollector } from '../../src/controllers/garbage-collector/garbage-collector.ts';
import { orch } from '../../src/dialect/orch.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { internalError } from '../../src/meta/status-error.ts';
import { RegistryFixture } from '../../src/registry/registry-fixture.ts';
import { RegistryTransport } from '../support/registry-transport.ts';

/** The garbage collector while discovery fails, in part or as a whole. */

let fixture: RegistryFixture;
let transport: RegistryTransport;
let clock: ManualClock;
let stop: () => void;
let warnings: number;

beforeEach(async () => {
  fixture = await RegistryFixture.open();
  transport = new RegistryTransport(fixture);
  clock = new ManualClock();
  warnings = 0;
});
afterEach(async () => {
  stop();
  await fixture[Symbol.asyncDispose]();
});

function start(): void {
  const logger = { ...silentLogger, warn: () => (warnings += 1) };
  const collector = startGarbageCollector({
    client: new ApiClient(transport, 'collector'),
    dialect: orch,
    clock,
    random: noJitter,
    logger,
    events: new KeptEvents(),
  });
  stop = () => collector.close();
}

const attempts = (): number => transport.requests.filter((request) => request === 'GET /apis').length;
const fail = (target: RegExp): void => {
  transport.failure = (request) => (target.test(request.target) ? internalError(new Error('away')) : undefined);
};

/** Waits until an attempt is over: its last request has been answered, and the next attempt has its timer. */
async function over(attempt: number): Promise<void> {
  await until(
    () => attempts() === attempt,
    () => `attempt ${attempt}: ${attempts()}`,
  );
  await until(() => clock.pending > 0, 'the next attempt has no timer');
}

describe('discovery that fails', () => {
  for (const [what, target] of [
    ['for one group', /^\/apis\/coordination\.orch\.io\/v1$/],
    ['for the core', /^\/api\/v1$/],
    ['for all groups', /^\/api(s\/.*|\/v1)$/],
    ['as a whole', /^\/apis$/],
  ] as const) {
    it(`${what} is tried again after 1 s, less and less often, and told once`, async () => {
      fail(target);
      start();
      let attempt = 1;
      // Once it is over nothing else of the collector waits: lists and watches are open.
      for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
        await over(attempt);
        clock.advance(seconds * 1000 - 1);
        assert.equal(attempts(), attempt, `before ${seconds} s`);
        clock.advance(1);
        attempt += 1;
      }
      await over(attempt);
      assert.equal(warnings, 1);
      transport.failure = () => undefined;
      clock.advance(30_000);
      await over(attempt + 1);
      clock.advance(29_999);
      assert.equal(attempts(), attempt + 1);
      // From a success on it is as at the beginning.
      fail(target);
      clock.advance(1);
      await over(attempt + 2);
      clock.advance(1_000);
      await over(attempt + 3);
      assert.equal(warnings, 2);
    });
  }
});

describe('a group that has not been discovered yet', () => {
  const namespace = '/api/v1/namespaces/default';
  const lease = '/apis/coordination.orch.io/v1/namespaces/default/leases/dependent';

  for (const [policy, kept] of [
    ['Orphan', true],
    ['Foreground', false],
  ] as const) {
    it(`keeps an owner that is deleted with ${policy}: it may have dependents there`, async () => {
      const owner = await fixture.object('POST', `${namespace}/configmaps`, { metadata: { name: 'owner' } });
      const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid };
      await fixture.object('POST', lease.replace('/dependent', ''), {
        metadata: { name: 'dependent', ownerReferences: [{ ...reference, blockOwnerDeletion: true }] },
      });
      fail(/^\/apis\/coordination\.orch\.io\/v1$/);
      start();
      await over(1);
      await fixture.call('DELETE', `${namespace}/configmaps/owner`, { propagationPolicy: policy });
      const exists = (path: string): Promise<ApiObject | undefined> =>
        fixture.object('GET', path).catch(() => undefined);
      // The work on it has failed for the first time once it waits to be repeated.
      await until(() => clock.pending > 1, 'the owner is not looked at');
      assert.ok(await exists(`${namespace}/configmaps/owner`));
      transport.failure = () => undefined;
      await until(async () => {
        clock.advance(100);
        return !(await exists(`${namespace}/configmaps/owner`));
      }, 'the owner stays');
      const left = await exists(lease);
      assert.equal(left !== undefined, kept);
      assert.equal(left?.metadata.ownerReferences, undefined);
    });
  }
});
