import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { type Answer, OrchProcess } from '../support/orch-process.ts';

/** Admission as a running server does it; the rules of each plugin stand in tables beside the plugins. */
const namespaces = '/api/v1/namespaces';
const pods = `${namespaces}/default/pods`;
const pod = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

interface Pod {
  readonly metadata: { readonly managedFields: readonly { readonly fieldsV1: object }[] };
  readonly spec: {
    readonly serviceAccountName?: string;
    readonly volumes?: readonly { readonly name: string }[];
  };
}

describe('by default', () => {
  it('a pod runs as the default account although its namespace was made just now', async () => {
    await using server = await OrchProcess.start();
    const answers: Answer<Pod>[] = [];
    for (let round = 0; round < 10; round++) {
      const name = `n${round}`;
      const made = server.post(namespaces, { metadata: { name } });
      assert.equal((await made).status, 201);
      answers.push(await server.post<Pod>(`${namespaces}/${name}/pods`, pod('p')));
    }
    for (const { status, json, text } of answers) {
      assert.equal(status, 201, text);
      assert.equal(json.spec.serviceAccountName, 'default');
      assert.match(json.spec.volumes?.[0]?.name ?? '', /^orch-api-access-[a-z0-9]{5}$/);
    }
  });

  it("what admission adds is nobody's, and stays when the pod is applied again", async () => {
    await using server = await OrchProcess.start();
    const apply = () =>
      server.request<Pod>('PATCH', `${pods}/applied?fieldManager=m`, {
        body: { apiVersion: 'v1', kind: 'Pod', ...pod('applied') },
        headers: { 'content-type': 'application/apply-patch+yaml' },
      });
    const first = await apply();
    assert.equal(first.status, 201, first.text);
    assert.doesNotMatch(JSON.stringify(first.json.metadata.managedFields), /f:volumes|f:serviceAccount/);
    assert.deepEqual((await apply()).json, first.json);
  });

  it('pods and nodes are prepared for what schedules pods and evicts them', async () => {
    await using server = await OrchProcess.start({ flags: ['--default-unreachable-toleration-seconds=5'] });
    const made = await server.post<{ readonly spec: { readonly tolerations: unknown } }>(pods, pod('tolerant'));
    const toleration = (taint: string, tolerationSeconds: number) => ({
      ...{ key: `node.orch.io/${taint}`, operator: 'Exists', effect: 'NoExecute', tolerationSeconds },
    });
    assert.deepEqual(made.json.spec.tolerations, [toleration('not-ready', 300), toleration('unreachable', 5)]);
    const node = await server.post<{ readonly spec: unknown }>('/api/v1/nodes', { metadata: { name: 'n' } });
    assert.deepEqual(node.json.spec, { taints: [{ key: 'node.orch.io/not-ready', effect: 'NoSchedule' }] });
  });

  it('a dry run goes through admission and leaves nothing', async () => {
    await using server = await OrchProcess.start();
    const { status, json } = await server.post<Pod>(`${pods}?dryRun=All`, pod('dry'));
    assert.deepEqual([status, json.spec.serviceAccountName, json.spec.volumes?.length], [201, 'default', 1]);
    assert.equal((await server.get(`${pods}/dry`)).status, 404);
    const refused = await server.post(`${pods}?dryRun=All`, pod('dry', { serviceAccountName: 'none' }));
    assert.equal(refused.status, 403);
    const none = await server.post(`${namespaces}/none/pods?dryRun=All`, pod('dry'));
    assert.equal(none.status, 404);
  });

  it('nothing is created in a namespace that goes; what is there can be changed', async () => {
    await using server = await OrchProcess.start();
    const finalizers = ['example.com/hold'];
    await server.post(namespaces, { metadata: { name: 'going' } });
    const held = `${namespaces}/going/configmaps/held`;
    await server.post(`${namespaces}/going/configmaps`, { metadata: { name: 'held', finalizers } });
    await server.delete(`${namespaces}/going`);
    const refused = await server.post<{ details: { causes: readonly { reason: string }[] } }>(
      `${namespaces}/going/configmaps`,
      { metadata: { name: 'late' } },
    );
    assert.deepEqual([refused.status, refused.json.details.causes[0]?.reason], [403, 'NamespaceTerminating']);
    assert.equal((await server.put(held, { metadata: { name: 'held', finalizers }, data: { a: 'b' } })).status, 200);
    await server.put(held, { metadata: { name: 'held' } });
    await until(async () => (await server.get(`${namespaces}/going`)).status === 404, 'the namespace is still there');
  });

  it('the namespaces that the server needs cannot be deleted', async () => {
    await using server = await OrchProcess.start();
    for (const name of ['default', 'orch-system', 'orch-public']) {
      const { status, text } = await server.delete(`${namespaces}/${name}`);
      assert.equal(status, 403);
      assert.match(text, /this namespace may not be deleted/);
    }
  });
});

describe('by flag', () => {
  it('a plugin can be switched off', async () => {
    await using server = await OrchProcess.start({
      flags: ['--disable-admission-plugins=ServiceAccount,NamespaceLifecycle,PodSecurity', '--controllers=namespace'],
    });
    const { status, json } = await server.post<Pod>(`${namespaces}/none/pods`, pod('p'));
    assert.deepEqual([status, json.spec.serviceAccountName, json.spec.volumes], [201, undefined, undefined]);
  });

  it('namespaces come with what is created in them', async () => {
    await using server = await OrchProcess.start({ flags: ['--enable-admission-plugins=NamespaceAutoProvision'] });
    const create = (namespace: string, data: object, query = '') =>
      server.post(`${namespaces}/${namespace}/configmaps${query}`, { metadata: { name: 'c' }, data });
    assert.equal((await create('dry', {}, '?dryRun=All')).status, 404);
    const heavy = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, 'v']));
    const answers = await Promise.all([create('light', { a: 'b' }), create('heavy', heavy)]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201],
    );
    for (const name of ['light', 'heavy']) assert.equal((await server.get(`${namespaces}/${name}`)).status, 200);
    assert.equal((await server.get(`${namespaces}/dry`)).status, 404);
    assert.match((await create('Bad_Name', {})).text, /is forbidden: Namespace|invalid/i);
  });

  it('a plugin can be switched on', async () => {
    await using server = await OrchProcess.start({
      flags: ['--enable-admission-plugins=OwnerReferencesPermissionEnforcement', '--controllers=namespace'],
    });
    const owned = (name: string, kind: string) => ({
      metadata: {
        name,
        ownerReferences: [{ apiVersion: 'v1', kind, name: 'o', uid: 'u', blockOwnerDeletion: true }],
      },
    });
    const configMaps = `${namespaces}/default/configmaps`;
    assert.equal((await server.post(configMaps, owned('a', 'ConfigMap'))).status, 201);
    const refused = await server.post(configMaps, owned('b', 'Widget'));
    assert.equal(refused.status, 403);
    assert.match(refused.text, /cannot find RESTMapping for APIVersion v1 Kind Widget/);
  });
});
