import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { as, Folder, outcome, type Rule, rbacGroup, rbacPath, type Subject } from '../support/authorization.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Default roles and bindings are what they should be after each start, unless their owner says otherwise (spec section 5.8). */

interface Stored {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly rules: readonly Rule[];
  readonly subjects?: readonly Subject[];
  readonly roleRef: { readonly name: string };
}

const autoupdate = `${rbacGroup}/autoupdate`;
const roles = `${rbacPath}/clusterroles`;
const bindings = `${rbacPath}/clusterrolebindings`;
const merge = { 'content-type': 'application/merge-patch+json' };

describe('default roles and bindings', () => {
  const held = new AsyncDisposableStack();
  const folder = held.use(new Folder());
  let server: OrchProcess;
  before(async () => {
    server = held.use(await OrchProcess.start({ flags: [folder.tokens({ jane: [], viewer: [] })] }));
  });
  after(() => held.disposeAsync());

  const read = async (path: string): Promise<Stored> => (await server.get<Stored>(path)).json;
  const patch = async (path: string, body: object): Promise<void> => {
    const { status, text } = await server.request('PATCH', path, { body, headers: merge });
    assert.equal(status, 200, text);
  };
  const remove = async (path: string): Promise<void> => {
    assert.equal((await server.delete(path)).status, 200, path);
  };
  const restart = async (): Promise<void> => {
    await server.stop();
    await server.restart();
  };
  const versions = async (): Promise<Readonly<Record<string, string>>> => {
    const all = ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map(async (resource) => {
      const { json } = await server.get<{ items: readonly Stored[] }>(`${rbacPath}/${resource}`);
      return json.items.map(
        ({ metadata: { namespace, name, resourceVersion } }) =>
          [`${resource} ${namespace ?? ''}/${name}`, resourceVersion] as const,
      );
    });
    return Object.fromEntries((await Promise.all(all)).flat());
  };
  /** The sums are filled one after the other: `admin` has the rules of all that there is when the last one is. */
  const filled = (): Promise<void> =>
    until(async () => {
      const parts = ['view', 'edit', 'admin'].map((part) => read(`${roles}/system:aggregate-to-${part}`));
      const counts = (await Promise.all(parts)).map(({ rules }) => rules.length);
      const { rules } = await read(`${roles}/admin`);
      return (rules ?? []).length === counts.reduce((sum, count) => sum + count, 0);
    }, 'the sums are filled');
  const isFilled = ({ rules }: Stored): boolean => (rules ?? []).length > 0;

  test('are labelled, and a start that finds them changes nothing', async () => {
    await filled();
    const { metadata } = await read(`${roles}/cluster-admin`);
    assert.equal(metadata.labels['orch.io/bootstrapping'], 'rbac-defaults');
    assert.equal(metadata.annotations?.['rbac.authorization.orch.io/autoupdate'], 'true');
    const before = await versions();
    assert.ok(Object.keys(before).length > 80);
    await restart();
    assert.deepEqual(await versions(), before);
  });

  test('are mended at the start: what is gone, what was changed, what binds something else', async () => {
    const before = await versions();
    const old = await read(`${bindings}/system:basic-user`);
    await remove(`${roles}/view`);
    await remove(`${roles}/system:node`);
    await remove(`${bindings}/system:discovery`);
    await patch(`${roles}/system:basic-user`, { rules: [], metadata: { labels: null, annotations: null } });
    await patch(`${roles}/cluster-admin`, { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] });
    await patch(`${bindings}/cluster-admin`, { subjects: null });
    await remove(`${bindings}/system:basic-user`);
    const { status } = await server.post(bindings, {
      metadata: { name: 'system:basic-user' },
      roleRef: { kind: 'ClusterRole', name: 'cluster-admin' },
    });
    assert.equal(status, 201);
    assert.equal(
      (await outcome(server, 'GET', '/api', { as: as('jane') }))[0],
      403,
      'while it runs it is as it was left',
    );

    await restart();
    assert.equal((await outcome(server, 'GET', '/api', { as: as('jane') }))[0], 200);
    assert.deepEqual(Object.keys(await versions()).sort(), Object.keys(before).sort());
    const basic = await read(`${roles}/system:basic-user`);
    assert.ok(basic.rules.some(({ resources }) => resources?.includes('selfsubjectaccessreviews')));
    assert.equal(basic.metadata.labels['orch.io/bootstrapping'], 'rbac-defaults');
    const { rules } = await read(`${roles}/cluster-admin`);
    assert.ok(rules.some(({ verbs, resources }) => verbs.includes('*') && resources?.includes('*')));
    assert.deepEqual((await read(`${bindings}/cluster-admin`)).subjects, [
      { kind: 'Group', apiGroup: rbacGroup, name: 'system:masters' },
    ]);
    const bound = await read(`${bindings}/system:basic-user`);
    assert.equal(bound.roleRef.name, 'system:basic-user');
    assert.notEqual(bound.metadata.uid, old.metadata.uid);
    await until(async () => isFilled(await read(`${roles}/view`)), 'the sum is filled again');
  });

  test('keep what was added to them', async () => {
    const extra = { verbs: ['get'], nonResourceURLs: ['/metrics'] };
    const { rules } = await read(`${roles}/system:basic-user`);
    await patch(`${roles}/system:basic-user`, {
      rules: [...rules, extra],
      metadata: { labels: { 'orch.io/bootstrapping': 'mine', more: 'yes' } },
    });
    const { subjects = [] } = await read(`${bindings}/system:discovery`);
    const jane = { kind: 'User', apiGroup: rbacGroup, name: 'jane' };
    await patch(`${bindings}/system:discovery`, { subjects: [...subjects, jane] });
    await restart();
    const role = await read(`${roles}/system:basic-user`);
    assert.deepEqual(role.rules.at(-1), extra);
    assert.deepEqual(role.metadata.labels, { 'orch.io/bootstrapping': 'mine', more: 'yes' });
    assert.deepEqual((await read(`${bindings}/system:discovery`)).subjects?.at(-1), jane);
    assert.equal((await outcome(server, 'GET', '/metrics', { as: as('jane') }))[0], 200);
  });

  test('are left as they are where their owner says so, but made again where they are gone', async () => {
    const off = { metadata: { annotations: { [autoupdate]: 'false' } } };
    await patch(`${bindings}/system:discovery`, { ...off, subjects: [] });
    await patch(`${roles}/system:basic-user`, { ...off, rules: [] });
    await patch(`${roles}/system:public-info-viewer`, off);
    await restart();
    assert.equal((await outcome(server, 'GET', '/api', { as: as('jane') }))[0], 403);
    assert.deepEqual((await read(`${roles}/system:basic-user`)).rules, []);
    await remove(`${roles}/system:basic-user`);
    await remove(`${bindings}/system:discovery`);
    await restart();
    assert.equal((await outcome(server, 'GET', '/api', { as: as('jane') }))[0], 200);
    const { metadata, rules } = await read(`${roles}/system:basic-user`);
    assert.ok(rules.length > 0);
    assert.equal(metadata.annotations?.[autoupdate], 'true');
  });

  test('nothing but "false" keeps them', async () => {
    const rows = [
      ['system:basic-user', 'False'],
      ['system:public-info-viewer', '0'],
      ['system:node-proxier', ''],
    ] as const;
    for (const [name, value] of rows) {
      await patch(`${roles}/${name}`, { metadata: { annotations: { [autoupdate]: value } }, rules: [] });
    }
    await server.kill();
    await server.restart();
    for (const [name, value] of rows) assert.ok(isFilled(await read(`${roles}/${name}`)), value);
  });

  test('a system:masters admin needs none of them', async () => {
    for (const path of [`${bindings}/cluster-admin`, `${roles}/cluster-admin`]) await remove(path);
    assert.equal((await server.get(`${rbacPath}/clusterroles`)).status, 200);
    assert.equal((await server.post('/api/v1/namespaces', { metadata: { name: 'still' } })).status, 201);
  });
});
