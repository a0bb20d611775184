import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { entityTooLarge } from '../../src/meta/status-error.ts';
import type { ClientRequest } from '../../src/outbound/transport.ts';
import { controllersForEach } from '../support/registry-controllers.ts';

/** The controller that writes the status of policies, over a registry that refuses some of its writes. */

const path = '/apis/admissionregistration.orch.io/v1/validatingadmissionpolicies';
const specOf = (group: string) => ({
  matchConstraints: {
    resourceRules: [{ operations: ['*'], apiGroups: [group], apiVersions: ['v1'], resources: ['configmaps'] }],
  },
  validations: [{ expression: 'true' }],
});

const controllers = controllersForEach();

const start = (): void => controllers.start(['validatingadmissionpolicy-status-controller']);

const statusOf = (name: string): string => `PATCH ${path}/${name}/status?fieldManager=validatingadmissionpolicy-status`;
const isOf = ({ method, target }: ClientRequest, name: string): boolean => `${method} ${target}` === statusOf(name);
/** How often the status of the policy was to be written. */
const writes = (name: string): number =>
  controllers.transport.requests.filter((request) => request === statusOf(name)).length;

const make = (name: string): Promise<ApiObject> =>
  controllers.fixture.object('POST', path, { metadata: { name }, spec: specOf('*') });
const change = (name: string): Promise<ApiObject> =>
  controllers.fixture.object('PATCH', `${path}/${name}`, { spec: { failurePolicy: 'Ignore' } });
const observedOf = async (name: string): Promise<number | undefined> =>
  ((await controllers.fixture.object('GET', `${path}/${name}`))['status'] as { observedGeneration?: number })
    .observedGeneration;
const observes = (name: string, generation = 1): Promise<void> =>
  until(async () => (await observedOf(name)) === generation, `${name} is not observed`);

describe('the status of policies', () => {
  it('is written again after a failure, and one that always fails is in the way of none', async () => {
    controllers.transport.failure = (request) =>
      isOf(request, 'bad') || (isOf(request, 'flaky') && writes('flaky') === 1) ? new Error('no') : undefined;
    await make('bad');
    await make('flaky');
    start();
    await make('good');
    await Promise.all([observes('flaky'), observes('good')]);
    await until(() => writes('bad') > 1, 'the bad one is not tried again');
    assert.deepEqual([await observedOf('bad'), writes('flaky'), writes('good')], [undefined, 2, 1]);
  });

  it('has no warnings where the store has no room for them', async () => {
    controllers.transport.failure = (request) =>
      isOf(request, 'a') && String(request.body).includes('undefined field') ? entityTooLarge('no room') : undefined;
    start();
    const spec = { ...specOf(''), validations: [{ expression: 'object.nope == 1' }] };
    await controllers.fixture.object('POST', path, { metadata: { name: 'a' }, spec });
    await observes('a');
    assert.equal(writes('a'), 2);
  });

  it('is not written of another policy with that name', async () => {
    const found: (number | undefined)[] = [];
    const replace = async (): Promise<void> => {
      await controllers.fixture.call('DELETE', `${path}/a`);
      await make('a');
    };
    controllers.transport.hold = (request) => {
      if (!isOf(request, 'a')) return undefined;
      if (writes('a') === 1) return replace();
      return observedOf('a').then((generation) => void found.push(generation));
    };
    await make('a');
    start();
    await until(() => found.length > 0, 'the new policy is not looked at');
    await observes('a');
    assert.equal(found[0], undefined);
  });

  it('is written once for each generation', async () => {
    start();
    await make('a');
    await observes('a');
    await controllers.fixture.object('PATCH', `${path}/a`, { metadata: { labels: { a: 'b' } } });
    await change('a');
    await observes('a', 2);
    assert.equal(writes('a'), 2);
  });
});
