import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { UserInfo } from '../../src/request/user-info.ts';
import { type Side, serverForSuite } from '../support/in-process-server.ts';

/**
 * Resources that the server itself looks at go from its table, and come again: what followed from their objects ends with
 * them, and what comes counts. Nobody holds on to what was served when the server started.
 */

const core = '/api/v1';
const inNamespace = `${core}/namespaces/default`;
const rbac = '/apis/rbac.authorization.orch.io/v1';
const jane: UserInfo = { username: 'jane', uid: '', groups: ['system:authenticated'], extra: {} };
const agent: UserInfo = { username: 'system:node:n1', uid: '', groups: ['system:nodes'], extra: {} };
const named = (name: string) => ({ metadata: { name } });
const subjects = [{ kind: 'User', name: 'jane', apiGroup: 'rbac.authorization.orch.io' }];
const binding = (name: string, kind: string) => ({
  ...named(name),
  subjects,
  roleRef: { kind, name: 'reader', apiGroup: 'rbac.authorization.orch.io' },
});
const rules = (resource: string) => [{ apiGroups: [''], resources: [resource], verbs: ['list'] }];
const volumes = [{ name: 'v', secret: { secretName: 's' } }];
const pod = (name: string) => ({
  ...named(name),
  spec: { nodeName: 'n1', serviceAccountName: 'default', containers: [{ name: 'c', image: 'i' }], volumes },
});

interface Row {
  readonly resource: string;
  /** Where it is served; absent: in the core group. */
  readonly group?: string;
  /** What is seen of its objects; undefined where it cannot be told. */
  readonly seen: (side: Side) => Promise<boolean>;
  /** Makes an object that is seen, when the resource has come again. */
  readonly make: (side: Side) => Promise<unknown>;
  /** Takes away what would be seen all the same. */
  readonly unmake: (side: Side) => Promise<unknown>;
}

const list = async (side: Side, path: string): Promise<boolean> => (await side.get(path, jane)).status === 200;
let token = '';

const rows: readonly Row[] = [
  {
    resource: 'roles',
    group: 'rbac.authorization.orch.io',
    seen: (side) => list(side, `${inNamespace}/configmaps`),
    make: (side) => side.create(`${rbac}/namespaces/default/roles`, { ...named('reader'), rules: rules('configmaps') }),
    unmake: (side) => side.send('DELETE', `${rbac}/namespaces/default/roles/reader`),
  },
  {
    resource: 'rolebindings',
    group: 'rbac.authorization.orch.io',
    seen: (side) => list(side, `${inNamespace}/configmaps`),
    make: (side) => side.create(`${rbac}/namespaces/default/rolebindings`, binding('b', 'Role')),
    unmake: (side) => side.send('DELETE', `${rbac}/namespaces/default/rolebindings/b`),
  },
  {
    resource: 'clusterroles',
    group: 'rbac.authorization.orch.io',
    seen: (side) => list(side, `${core}/secrets`),
    make: (side) => side.create(`${rbac}/clusterroles`, { ...named('reader'), rules: rules('secrets') }),
    unmake: (side) => side.send('DELETE', `${rbac}/clusterroles/reader`),
  },
  {
    resource: 'clusterrolebindings',
    group: 'rbac.authorization.orch.io',
    seen: (side) => list(side, `${core}/secrets`),
    make: (side) => side.create(`${rbac}/clusterrolebindings`, binding('b', 'ClusterRole')),
    unmake: (side) => side.send('DELETE', `${rbac}/clusterrolebindings/b`),
  },
  {
    resource: 'pods',
    seen: async (side) => (await side.get(`${inNamespace}/secrets/s`, agent)).status === 200,
    make: (side) => side.create(`${inNamespace}/pods`, pod('p')),
    unmake: (side) => side.send('DELETE', `${inNamespace}/pods/p`, { gracePeriodSeconds: 0 }),
  },
  {
    resource: 'serviceaccounts',
    seen: async (side) => {
      const review = await side.send('POST', '/apis/authentication.orch.io/v1/tokenreviews', { spec: { token } });
      return review.json.status.authenticated === true;
    },
    async make(side) {
      await side.create(`${inNamespace}/serviceaccounts`, named('robot'));
      const made = await side.send('POST', `${inNamespace}/serviceaccounts/robot/token`, { spec: {} });
      token = made.json.status.token;
    },
    unmake: (side) => side.send('DELETE', `${inNamespace}/serviceaccounts/robot`),
  },
  {
    resource: 'namespaces',
    seen: async (side) => (await side.send('POST', `${core}/namespaces/new/configmaps`, named('a'))).status !== 404,
    make: (side) => side.create(`${core}/namespaces`, named('new')),
    unmake: (side) => side.send('DELETE', `${core}/namespaces/new`),
  },
];

describe('resources that the server looks at', { timeout: 120_000 }, () => {
  const running = serverForSuite();

  before(async () => {
    const { side } = running;
    await side.create(`${inNamespace}/serviceaccounts`, named('default'));
    await side.create(`${inNamespace}/secrets`, named('s'));
    for (const { make } of rows) await make(side);
  });

  for (const { resource, group = '', seen, make, unmake } of rows) {
    test(resource, async () => {
      const { server, side } = running;
      await until(() => seen(side), `${resource} are not seen`);
      const served = server.resources.find(group, 'v1', resource);
      assert.ok(served);
      server.resources.remove(served.resource);
      await until(async () => !(await seen(side)), `${resource} are seen although they are not served`);
      await server.resources.add(served.kind);
      await until(() => seen(side), `${resource} are not seen again`);
      await unmake(side);
      await until(async () => !(await seen(side)), `${resource} are seen after their end`);
      await make(side);
      await until(() => seen(side), `${resource} that are new are not seen`);
    });
  }
});
