import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { as, asker, assertGets, Folder, make, outcome, refusal } from '../support/authorization.ts';
import { OrchProcess, type RequestOptions } from '../support/orch-process.ts';

/** What the agent of a node may do with what `orch up` has on by itself: the modes Node and RBAC, and NodeRestriction. */

const held = new AsyncDisposableStack();
const folder = held.use(new Folder());
let server: OrchProcess;

const team = '/api/v1/namespaces/team';
const nodes = '/api/v1/nodes';
const leases = '/apis/coordination.orch.io/v1/namespaces/orch-node-lease/leases';
const merge = { 'content-type': 'application/merge-patch+json' };
const [one, two] = ['system:node:n1', 'system:node:n2'];

const pod = (name: string, nodeName: string, spec: object = {}) => ({
  metadata: { name },
  spec: { nodeName, containers: [{ name: 'c', image: 'i' }], ...spec },
});
const volume = (name: string, source: object) => ({ name, ...source });

before(async () => {
  const agents = { [one]: ['system:nodes'], [two]: ['system:nodes'], 'system:node:': ['system:nodes'] };
  const others = { 'system:node:n3': [], impostor: ['system:nodes'] };
  server = held.use(await OrchProcess.start({ flags: [folder.tokens({ ...agents, ...others })] }));
  await make(server, '/api/v1/namespaces', { metadata: { name: 'team' } });
  for (const name of ['n1', 'n2']) await make(server, nodes, { metadata: { name } });
  const objects = ['env', 'mounted', 'projected', 'pull', 'other', 'later'];
  for (const name of objects) {
    await make(server, `${team}/secrets`, { metadata: { name }, stringData: { k: name } });
    await make(server, `${team}/configmaps`, { metadata: { name } });
  }
  for (const name of ['worker', 'idle']) await make(server, `${team}/serviceaccounts`, { metadata: { name } });
  await make(
    server,
    `${team}/pods`,
    pod('p1', 'n1', {
      serviceAccountName: 'worker',
      imagePullSecrets: [{ name: 'pull' }],
      containers: [{ name: 'c', image: 'i', envFrom: [{ secretRef: { name: 'env' } }] }],
      initContainers: [
        {
          name: 'i',
          image: 'i',
          env: [{ name: 'E', valueFrom: { configMapKeyRef: { name: 'env', key: 'k' } } }],
        },
      ],
      volumes: [
        volume('a', { secret: { secretName: 'mounted' } }),
        volume('b', { configMap: { name: 'mounted' } }),
        volume('c', {
          projected: { sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'projected' } }] },
        }),
      ],
    }),
  );
  await make(server, `${team}/pods`, pod('p2', 'n2'));
});
after(() => held.disposeAsync());

const ask = asker(() => server);
const gets = (name: string, rows: Parameters<typeof assertGets>[2]): Promise<void> => assertGets(ask, name, rows);

const select = (path: string, selector: string): string => `${path}?fieldSelector=${encodeURIComponent(selector)}`;

describe('what a node reads', () => {
  test('of secrets and config maps: those that its pods refer to, by name', async () => {
    for (const name of ['env', 'mounted', 'projected', 'pull']) {
      const expected = name === 'pull' ? 403 : 200;
      await gets(one, [
        ['GET', `${team}/secrets/${name}`, 200],
        ['GET', select(`${team}/secrets`, `metadata.name=${name}`), 200],
        ['GET', `${select(`${team}/secrets`, `metadata.name=${name}`)}&watch=1`, 200],
        ['GET', `${team}/configmaps/${name}`, expected],
      ]);
      await gets(two, [
        ['GET', `${team}/secrets/${name}`, 403],
        ['GET', select(`${team}/secrets`, `metadata.name=${name}`), 403],
        ['GET', `${team}/configmaps/${name}`, 403],
      ]);
    }
    await gets(one, [
      ['GET', `${team}/secrets/other`, 403],
      ['GET', `${team}/secrets/absent`, 403],
      ['GET', `${team}/secrets`, 403],
      ['GET', `${team}/secrets?watch=1`, 403],
      ['GET', '/api/v1/secrets', 403],
      ['GET', select('/api/v1/secrets', 'metadata.name=env'), 403],
      ['GET', select(`${team}/secrets`, 'metadata.name!=env'), 403],
      ['GET', select(`${team}/secrets`, 'metadata.namespace!=x\\,metadata.name\\=env'), 403],
      ['GET', '/api/v1/namespaces/default/secrets/env', 403],
      ['PUT', `${team}/secrets/env`, 403, { body: { metadata: { name: 'env' } } }],
      ['PATCH', `${team}/secrets/env`, 403, { body: '{}', headers: merge }],
      ['DELETE', `${team}/secrets/env`, 403],
      ['DELETE', `${team}/secrets`, 403],
      ['POST', `${team}/secrets`, 403, { body: { metadata: { name: 'new' } } }],
    ]);
    const sentence = refusal({ by: two, verb: 'get', resource: 'secrets', namespace: 'team', name: 'env' });
    const why = "no relationship found between node 'n2' and this object";
    assert.deepEqual(await outcome(server, 'GET', `${team}/secrets/env`, { as: as(two) }), [
      403,
      `${sentence}: ${why}`,
    ]);
  });

  test('as long as there is such a pod', async () => {
    assert.equal(await ask(two, 'GET', `${team}/secrets/later`), 403);
    await make(
      server,
      `${team}/pods`,
      pod('later', 'n2', { volumes: [volume('a', { secret: { secretName: 'later' } })] }),
    );
    assert.equal(await ask(two, 'GET', `${team}/secrets/later`), 200);
    assert.equal(await ask(one, 'GET', `${team}/secrets/later`), 403);
    await server.delete(`${team}/pods/later?gracePeriodSeconds=0`);
    await until(async () => (await server.get(`${team}/pods/later`)).status === 404, 'the pod goes');
    assert.equal(await ask(two, 'GET', `${team}/secrets/later`), 403);
  });

  test('a pod that gets its node later', async () => {
    const { nodeName: _, ...spec } = pod('', '', { volumes: [volume('a', { configMap: { name: 'later' } })] }).spec;
    await make(server, `${team}/pods`, { metadata: { name: 'unbound' }, spec });
    assert.equal(await ask(one, 'GET', `${team}/configmaps/later`), 403);
    const { status, text } = await server.post(`${team}/pods/unbound/binding`, {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'unbound' },
      target: { kind: 'Node', name: 'n1' },
    });
    assert.ok(status < 300, text);
    assert.equal(await ask(one, 'GET', `${team}/configmaps/later`), 200);
    assert.equal(await ask(two, 'GET', `${team}/configmaps/later`), 403);
  });

  test('of nodes: its own', async () => {
    await gets(one, [
      ['GET', `${nodes}/n1`, 200],
      ['GET', select(nodes, 'metadata.name=n1'), 200],
      ['GET', `${select(nodes, 'metadata.name=n1')}&watch=1`, 200],
      ['GET', `${nodes}/n2`, 403],
      ['GET', `${nodes}/absent`, 403],
      ['GET', nodes, 403],
      ['GET', `${nodes}?watch=1`, 403],
      ['GET', select(nodes, 'metadata.name=n2'), 403],
      ['GET', `${nodes}/n1/status`, 403],
    ]);
    const sentence = refusal({ by: one, verb: 'get', resource: 'nodes', namespace: '', name: 'n2' });
    const why = "node 'n1' cannot read 'n2', only its own Node object";
    assert.deepEqual(await outcome(server, 'GET', `${nodes}/n2`, { as: as(one) }), [403, `${sentence}: ${why}`]);
  });

  test('of pods: those that run there', async () => {
    await gets(one, [
      ['GET', `${team}/pods/p1`, 200],
      ['GET', `${team}/pods/p2`, 403],
      ['GET', `${team}/pods/absent`, 403],
      ['GET', '/api/v1/pods', 403],
      ['GET', `${team}/pods`, 403],
      ['GET', select('/api/v1/pods', 'spec.nodeName=n1'), 200],
      ['GET', `${select('/api/v1/pods', 'spec.nodeName=n1')}&watch=1`, 200],
      ['GET', select(`${team}/pods`, 'status.phase!=Failed,spec.nodeName=n1'), 200],
      ['GET', select('/api/v1/pods', 'spec.nodeName=n2'), 403],
      ['GET', select('/api/v1/pods', 'spec.nodeName!=n2'), 403],
      ['GET', select('/api/v1/pods', 'metadata.namespace=spec.nodeName\\=n1'), 403],
      ['GET', '/api/v1/pods?labelSelector=spec.nodeName%3Dn1', 403],
      ['GET', select(`${team}/pods`, 'metadata.name=p1'), 200],
      ['GET', select(`${team}/pods`, 'metadata.name=p2'), 403],
    ]);
    const { json } = await server.get<{ items: readonly { metadata: { name: string } }[] }>(
      select('/api/v1/pods', 'spec.nodeName=n1'),
      { as: as(one) },
    );
    assert.deepEqual(json.items.map(({ metadata }) => metadata.name).sort(), ['p1', 'unbound']);
  });

  test('nothing else of other kinds, and discovery as everybody', async () => {
    await gets(one, [
      ['GET', '/api/v1/namespaces', 403],
      ['GET', `${team}/serviceaccounts/worker`, 403],
      ['GET', `${team}/serviceaccounts`, 403],
      ['GET', '/apis/rbac.authorization.orch.io/v1/clusterroles', 403],
      ['GET', '/metrics', 403],
      ['GET', '/api', 200],
      [
        'POST',
        '/apis/authorization.orch.io/v1/subjectaccessreviews',
        201,
        { body: { spec: { user: 'a', nonResourceAttributes: { path: '/', verb: 'get' } } } },
      ],
      ['POST', '/apis/authentication.orch.io/v1/tokenreviews', 201, { body: { spec: { token: 'x' } } }],
    ]);
  });
});

describe('who is no node', () => {
  test('a name without the group, the group without the name, and no name at all', async () => {
    for (const name of ['system:node:n3', 'impostor', 'system:node:']) {
      await gets(name, [
        ['GET', `${nodes}/n1`, 403],
        ['GET', `${nodes}/n3`, 403],
        ['GET', `${nodes}/`, 403],
        ['GET', `${team}/secrets/env`, 403],
        ['GET', select('/api/v1/pods', 'spec.nodeName=n1'), 403],
        ['GET', select('/api/v1/pods', 'spec.nodeName='), 403],
        ['POST', nodes, 403, { body: { metadata: { name: 'n3' } } }],
      ]);
    }
  });
});

describe('what a node writes', () => {
  const patch = (body: object): RequestOptions => ({ body, headers: merge });
  const restricted = async (name: string, method: string, path: string, options: RequestOptions, why: string) => {
    const [status, message = ''] = await outcome(server, method, path, { ...options, as: as(name) });
    assert.equal(status, 403, `${method} ${path}: ${message}`);
    assert.ok(message.includes(why), message);
  };

  test('its Node and its status, not those of others, and no labels that steer pods', async () => {
    await gets(one, [
      ['PATCH', `${nodes}/n1`, 200, patch({ metadata: { labels: { 'example.com/a': 'b' } } })],
      ['PATCH', `${nodes}/n1/status`, 200, patch({ status: { phase: 'Running' } })],
      ['DELETE', `${nodes}/n1`, 403],
      ['DELETE', nodes, 403],
    ]);
    const other = 'node "n1" is not allowed to modify node "n2"';
    await restricted(one, 'PATCH', `${nodes}/n2`, patch({ metadata: { labels: { a: 'b' } } }), other);
    await restricted(one, 'PATCH', `${nodes}/n2/status`, patch({ status: { phase: 'Running' } }), other);
    await restricted(one, 'POST', nodes, { body: { metadata: { name: 'n9' } } }, 'is not allowed to modify node "n9"');
    const steering = { metadata: { labels: { 'node-restriction.orch.io/tier': 'x' } } };
    await restricted(one, 'PATCH', `${nodes}/n1`, patch(steering), 'is not allowed to modify labels');
    const taint = { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } };
    await restricted(one, 'PATCH', `${nodes}/n1`, patch(taint), 'is not allowed to modify taints');
  });

  test('the status of its pods; it evicts and deletes them, and no others', async () => {
    await gets(one, [
      ['PATCH', `${team}/pods/p1/status`, 200, patch({ status: { message: 'here' } })],
      ['PATCH', `${team}/pods/p1`, 403, patch({ metadata: { labels: { a: 'b' } } })],
      ['DELETE', `${team}/pods`, 403],
    ]);
    const other = 'with spec.nodeName set to itself';
    await restricted(one, 'PATCH', `${team}/pods/p2/status`, patch({ status: { message: 'there' } }), other);
    await restricted(one, 'DELETE', `${team}/pods/p2`, {}, other);
    const eviction = (name: string) => ({ body: { metadata: { name } } });
    await restricted(one, 'POST', `${team}/pods/p2/eviction`, eviction('p2'), other);
    const body = pod('own', 'n1');
    await restricted(one, 'POST', `${team}/pods`, { body }, 'can only create mirror pods');
    // A pod that is not there may be on another node: nothing is said about it but that.
    assert.equal(await ask(one, 'DELETE', `${team}/pods/absent`), 404);
  });

  test('tokens for the accounts of its pods, bound to them', async () => {
    const tokens = `${team}/serviceaccounts/worker/token`;
    const { json } = await server.get<{ metadata: { uid: string } }>(`${team}/pods/p1`);
    const bound = (name: string, uid = json.metadata.uid) => ({
      body: { spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid } } },
    });
    assert.equal(await ask(one, 'POST', tokens, bound('p1')), 201);
    await restricted(one, 'POST', tokens, { body: {} }, 'node requested token not bound to a pod');
    await restricted(one, 'POST', tokens, bound('p1', 'x'), 'does not match');
    assert.equal(await ask(one, 'POST', `${team}/serviceaccounts/idle/token`, bound('p1')), 403);
    assert.equal(await ask(two, 'POST', tokens, bound('p1')), 403);
  });

  test('its lease', async () => {
    const lease = (name: string) => ({ body: { metadata: { name } } });
    await gets(one, [
      ['POST', leases, 201, lease('n1')],
      ['GET', `${leases}/n1`, 200],
      ['PATCH', `${leases}/n1`, 200, patch({ spec: { holderIdentity: 'n1' } })],
      ['GET', `${leases}/n2`, 403],
      ['PATCH', `${leases}/n2`, 403, patch({})],
      ['GET', leases, 403],
      ['POST', leases.replace('orch-node-lease', 'default'), 403, lease('n1')],
      ['DELETE', `${leases}/n1`, 200],
    ]);
    await restricted(one, 'POST', leases, lease('n2'), 'can only access node lease with the same name');
  });

  test('with NodeRestriction turned off what the authorizer cannot see is not looked at', async () => {
    await using open = await OrchProcess.start({
      flags: [folder.tokens({ [one]: ['system:nodes'] }), '--disable-admission-plugins=NodeRestriction'],
    });
    await make(open, nodes, { metadata: { name: 'n2' } });
    const [status] = await outcome(open, 'PATCH', `${nodes}/n2`, { ...patch({}), as: as(one) });
    assert.equal(status, 200);
    assert.equal((await outcome(open, 'GET', `${nodes}/n2`, { as: as(one) }))[0], 403);
  });
});
