import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { asClusterRole } from '../../src/kinds/rbac/cluster-role.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { controllersForEach } from '../support/registry-controllers.ts';

/** The controller that fills cluster roles with the rules of others, over a registry. */
const controllers = controllersForEach();

const path = '/apis/rbac.authorization.orch.io/v1/clusterroles';
const select = (...labels: readonly string[]) => ({
  aggregationRule: { clusterRoleSelectors: labels.map((label) => ({ matchLabels: { to: label } })) },
});
const gets = (...resources: readonly string[]) => ({
  rules: resources.map((resource) => ({ verbs: ['get'], apiGroups: [''], resources: [resource] })),
});
const make = (name: string, label: string, rest: object): Promise<ApiObject> =>
  controllers.fixture.object('POST', path, {
    metadata: { name, ...(label !== '' && { labels: { to: label } }) },
    ...rest,
  });
const resources = async (name: string): Promise<readonly string[]> =>
  (asClusterRole(await controllers.fixture.object('GET', `${path}/${name}`)).rules ?? []).flatMap(
    (rule) => rule.resources ?? [],
  );
const becomes = (name: string, ...expected: readonly string[]): Promise<void> =>
  until(
    async () => (await resources(name)).join() === expected.join(),
    `${name} never has the rules for ${expected.join()}`,
  );

const start = (): void => controllers.start(['clusterrole-aggregation-controller']);

describe('cluster roles that aggregate others', () => {
  it('get the rules of those that are there, and of those that come, change and go', async () => {
    await make('b', 'x', gets('pods'));
    await make('sum', '', select('x'));
    start();
    await becomes('sum', 'pods');
    await make('a', 'x', gets('nodes'));
    await becomes('sum', 'nodes', 'pods');
    await controllers.fixture.object('PATCH', `${path}/b`, gets('secrets', 'pods'));
    await becomes('sum', 'nodes', 'secrets', 'pods');
    await controllers.fixture.call('DELETE', `${path}/b`);
    await becomes('sum', 'nodes');
  });

  it('lose what somebody writes into them', async () => {
    await make('a', 'x', gets('nodes'));
    start();
    await make('sum', '', { ...select('x'), ...gets('secrets') });
    await becomes('sum', 'nodes');
  });

  it('get the rules of others that aggregate, in as many steps as it takes', async () => {
    start();
    await make('top', '', select('middle'));
    await make('between', 'middle', select('leaf'));
    await make('below', 'leaf', gets('pods'));
    await becomes('top', 'pods');
  });

  it('come to rest where they select each other', async () => {
    start();
    await make('one', 'a', select('b'));
    await make('two', 'b', select('a', 'leaf'));
    await make('below', 'leaf', gets('pods'));
    await becomes('one', 'pods');
    await becomes('two', 'pods');
    const writes = (): number => controllers.transport.requests.filter((request) => request.startsWith('PUT')).length;
    const before = writes();
    // Each change has all of them looked at; that of a role that nobody selects has nothing written.
    await make('other', '', gets('nodes'));
    await make('last', 'leaf', gets('secrets'));
    await becomes('one', 'pods', 'secrets');
    await becomes('two', 'pods', 'secrets');
    assert.ok(writes() - before <= 4, `${writes() - before} writes`);
  });
});
