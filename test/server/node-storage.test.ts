import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { as, asker, assertGets, Folder, make, outcome } from '../support/authorization.ts';
import { OrchProcess, type RequestOptions } from '../support/orch-process.ts';

/** What the agent of a node may do with claims, volumes and what belongs to them: with those of its own pods. */

const held = new AsyncDisposableStack();
const folder = held.use(new Folder());
let server: OrchProcess;

const team = '/api/v1/namespaces/team';
const volumes = '/api/v1/persistentvolumes';
const storage = '/apis/storage.orch.io/v1';
const merge = { 'content-type': 'application/merge-patch+json' };
const [one, two] = ['system:node:n1', 'system:node:n2'];
const modes = { accessModes: ['ReadWriteMany'] };

const claimOf = (name: string, volumeName = '') => ({
  metadata: { name },
  spec: {
    ...modes,
    storageClassName: '',
    resources: { requests: { storage: '1Gi' } },
    ...(volumeName && { volumeName }),
  },
});
const volumeOf = (name: string, claim: string, source: object) => ({
  metadata: { name },
  spec: { ...modes, capacity: { storage: '1Gi' }, claimRef: { namespace: 'team', name: claim }, ...source },
});
const secretOf = (name: string) => ({ name, namespace: 'team' });
const podOf = (name: string, nodeName: string, volume: object) => ({
  metadata: { name },
  spec: { nodeName, containers: [{ name: 'c', image: 'i' }], volumes: [{ name: 'v', ...volume }] },
});
const claimed = (claimName: string) => ({ persistentVolumeClaim: { claimName } });
const attachmentOf = (name: string, nodeName: string) => ({
  metadata: { name },
  spec: { attacher: 'example.com', nodeName, source: { persistentVolumeName: 'attached' } },
});

before(async () => {
  const agents = { [one]: ['system:nodes'], [two]: ['system:nodes'] };
  server = held.use(await OrchProcess.start({ flags: [folder.tokens(agents)] }));
  await make(server, '/api/v1/namespaces', { metadata: { name: 'team' } });
  const account = `${team}/serviceaccounts/default`;
  await until(async () => (await server.get(account)).status === 200, 'there is no account for pods');
  for (const name of ['publish', 'stage', 'expand', 'controller', 'other', 'disk']) {
    await make(server, `${team}/secrets`, { metadata: { name } });
  }
  for (const name of ['mine', 'theirs', 'unused', 'later'])
    await make(server, `${team}/persistentvolumeclaims`, claimOf(name, name));
  const csi = {
    ...{ driver: 'example.com', volumeHandle: 'h', nodePublishSecretRef: secretOf('publish') },
    ...{ nodeStageSecretRef: secretOf('stage'), nodeExpandSecretRef: secretOf('expand') },
    ...{ controllerPublishSecretRef: secretOf('controller'), controllerExpandSecretRef: secretOf('controller') },
  };
  await make(server, volumes, volumeOf('mine', 'mine', { csi }));
  const iscsi = { targetPortal: '10.0.0.1', iqn: 'iqn.2003-01.com.example:d', lun: 0, secretRef: secretOf('disk') };
  await make(server, volumes, volumeOf('theirs', 'theirs', { iscsi }));
  for (const name of ['unused', 'later'])
    await make(server, volumes, volumeOf(name, name, { hostPath: { path: '/d' } }));
  await make(server, `${team}/pods`, podOf('p1', 'n1', claimed('mine')));
  await make(server, `${team}/pods`, podOf('p2', 'n2', claimed('theirs')));
  for (const [name, node] of [
    ['a1', 'n1'],
    ['a2', 'n2'],
  ] as const) {
    await make(server, `${storage}/volumeattachments`, attachmentOf(name, node));
  }
  await make(server, `${storage}/csidrivers`, { metadata: { name: 'example.com' }, spec: {} });
  await make(server, '/apis/node.orch.io/v1/runtimeclasses', { metadata: { name: 'vm' }, handler: 'vm' });
});
after(() => held.disposeAsync());

const ask = asker(() => server);
const gets = (name: string, rows: Parameters<typeof assertGets>[2]): Promise<void> => assertGets(ask, name, rows);
const patch = (body: object): RequestOptions => ({ body, headers: merge });
const claims = `${team}/persistentvolumeclaims`;

describe('what a node reads of storage', () => {
  test('claims of its pods, by name, and the volumes that they are bound to', async () => {
    for (const [node, own, others] of [
      [one, 'mine', 'theirs'],
      [two, 'theirs', 'mine'],
    ] as const) {
      for (const path of [claims, volumes]) {
        await gets(node, [
          ['GET', `${path}/${own}`, 200],
          ['GET', `${path}/${others}`, 403],
          ['GET', `${path}/unused`, 403],
          ['GET', `${path}/absent`, 403],
          ['GET', path, 403],
          ['GET', `${path}?fieldSelector=metadata.name%3D${own}`, 403],
          ['GET', `${path}?watch=1`, 403],
          ['GET', `${path}/${own}/status`, 403],
          ['DELETE', `${path}/${own}`, 403],
          ['PATCH', `${path}/${own}`, 403, patch({ metadata: { labels: { a: 'b' } } })],
        ]);
      }
    }
  });

  test('secrets by which nodes mount those volumes', async () => {
    for (const name of ['publish', 'stage', 'expand']) {
      await gets(one, [['GET', `${team}/secrets/${name}`, 200]]);
      await gets(two, [['GET', `${team}/secrets/${name}`, 403]]);
    }
    await gets(two, [['GET', `${team}/secrets/disk`, 200]]);
    await gets(one, [
      ['GET', `${team}/secrets/disk`, 403],
      ['GET', `${team}/secrets/controller`, 403],
      ['GET', `${team}/secrets/other`, 403],
    ]);
  });

  test('what is attached to it, by name; drivers and runtime classes of all', async () => {
    await gets(one, [
      ['GET', `${storage}/volumeattachments/a1`, 200],
      ['GET', `${storage}/volumeattachments/a2`, 403],
      ['GET', `${storage}/volumeattachments`, 403],
      ['DELETE', `${storage}/volumeattachments/a1`, 403],
      ['GET', `${storage}/csidrivers`, 200],
      ['GET', `${storage}/csidrivers/example.com`, 200],
      ['DELETE', `${storage}/csidrivers/example.com`, 403],
      ['GET', `${storage}/storageclasses`, 403],
      ['GET', '/apis/node.orch.io/v1/runtimeclasses', 200],
      ['GET', '/apis/node.orch.io/v1/runtimeclasses/vm', 200],
      ['PATCH', '/apis/node.orch.io/v1/runtimeclasses/vm', 403, patch({})],
    ]);
  });

  test('as long as there is such a pod, and the volume is bound to its claim', async () => {
    const both = async (wanted: number): Promise<void> => {
      await gets(two, [
        ['GET', `${claims}/later`, wanted],
        ['GET', `${volumes}/later`, wanted],
      ]);
    };
    await both(403);
    await make(server, `${team}/pods`, podOf('p3', 'n2', claimed('later')));
    await both(200);
    const { json } = await server.get<{ spec: object }>(`${volumes}/later`);
    const freed = { ...json, spec: { ...json.spec, claimRef: undefined } };
    assert.equal((await server.put(`${volumes}/later`, freed)).status, 200);
    await gets(two, [
      ['GET', `${claims}/later`, 200],
      ['GET', `${volumes}/later`, 403],
    ]);
    const bound = { spec: { claimRef: secretOf('later') } };
    await server.request('PATCH', `${volumes}/later`, patch(bound));
    await both(200);
    await server.delete(`${team}/pods/p3?gracePeriodSeconds=0`);
    await both(403);
  });

  test('a claim that was made for an ephemeral volume', async () => {
    const template = { spec: { ...modes, resources: { requests: { storage: '1Gi' } } } };
    await make(server, `${team}/pods`, podOf('p4', 'n1', { ephemeral: { volumeClaimTemplate: template } }));
    await make(server, claims, claimOf('p4-v'));
    await gets(one, [['GET', `${claims}/p4-v`, 200]]);
    await gets(two, [['GET', `${claims}/p4-v`, 403]]);
  });
});

describe('what a node writes of storage', () => {
  const restricted = async (method: string, path: string, options: RequestOptions, why: string): Promise<void> => {
    const [status, message = ''] = await outcome(server, method, path, { ...options, as: as(one) });
    assert.equal(status, 403, `${method} ${path}: ${message}`);
    assert.ok(message.includes(why), message);
  };

  test('how far the growth of a volume is, in the status of the claim, and nothing else there', async () => {
    const path = `${claims}/mine/status`;
    const grown = {
      capacity: { storage: '2Gi' },
      conditions: [{ type: 'FileSystemResizePending', status: 'True' }],
      allocatedResources: { storage: '3Gi' },
      allocatedResourceStatuses: { storage: 'NodeResizeInProgress' },
    };
    await gets(one, [['PATCH', path, 200, patch({ status: grown })]]);
    const { json } = await server.get<{ metadata: object; status: object }>(`${claims}/mine`);
    await gets(one, [
      ['PUT', path, 200, { body: { ...json, status: { ...json.status, capacity: { storage: '3Gi' } } } }],
    ]);
    const other = 'node "n1" is not allowed to update fields other than status.quantity and status.conditions';
    await restricted('PATCH', path, patch({ status: { phase: 'Lost' } }), other);
    await restricted('PATCH', path, patch({ status: { accessModes: ['ReadWriteOnce'] } }), other);
    await restricted('PATCH', path, patch({ metadata: { labels: { a: 'b' } } }), other);
    await restricted('PATCH', path, patch({ metadata: { finalizers: [] } }), other);
    await restricted('PATCH', `${claims}/theirs/status`, patch({ status: grown }), 'no relationship found');
  });

  test('its CSINode', async () => {
    const nodes = `${storage}/csinodes`;
    const driverNode = (name: string) => ({ body: { metadata: { name }, spec: { drivers: [] } } });
    await gets(one, [
      ['POST', nodes, 201, driverNode('n1')],
      ['GET', `${nodes}/n1`, 200],
      ['PATCH', `${nodes}/n1`, 200, patch({ spec: { drivers: [{ name: 'example.com', nodeID: 'n1' }] } })],
      ['GET', nodes, 403],
      ['GET', `${nodes}/n2`, 403],
      ['DELETE', nodes, 403],
    ]);
    const own = 'can only access CSINode with the same name as the requesting node';
    await restricted('POST', nodes, driverNode('n2'), own);
    await restricted('POST', nodes, { body: { metadata: { generateName: 'n' }, spec: { drivers: [] } } }, own);
    await make(server, nodes, driverNode('n2').body);
    await restricted('PATCH', `${nodes}/n2`, patch({ spec: { drivers: [] } }), own);
    await restricted('DELETE', `${nodes}/n2`, {}, own);
    await gets(one, [['DELETE', `${nodes}/n1`, 200]]);
  });

  test('no mirror pod with a claim', async () => {
    const { json } = await server.post<{ metadata: { uid: string } }>('/api/v1/nodes', { metadata: { name: 'n1' } });
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: json.metadata.uid, controller: true };
    const { spec } = podOf('', 'n1', claimed('unused'));
    const metadata = { name: 'mirror', annotations: { 'orch.io/config.mirror': 'x' }, ownerReferences: [owner] };
    const why = 'node "n1" can not create pods that reference persistentvolumeclaims';
    await restricted('POST', `${team}/pods`, { body: { metadata, spec } }, why);
  });
});

test('with the gate, a node gets tokens for whom its pod names', async () => {
  const flags = [
    folder.tokens({ [one]: ['system:nodes'] }),
    '--feature-gates=ServiceAccountNodeAudienceRestriction=true',
  ];
  await using strict = await OrchProcess.start({ flags });
  await make(strict, '/api/v1/namespaces', { metadata: { name: 'team' } });
  const account = `${team}/serviceaccounts/default`;
  await until(async () => (await strict.get(account)).status === 200, 'there is no account for pods');
  const projected = { projected: { sources: [{ serviceAccountToken: { audience: 'vault', path: 't' } }] } };
  const { metadata } = (await make(strict, `${team}/pods`, podOf('p', 'n1', projected))) as {
    metadata?: { uid: string };
  };
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: metadata?.uid };
  const request = (audience: string) =>
    outcome(strict, 'POST', `${account}/token`, {
      body: { spec: { audiences: [audience], boundObjectRef } },
      as: as(one),
    });
  assert.equal((await request('vault'))[0], 201);
  const refused = 'serviceaccounts "default" is forbidden: audience "store" not found in pod spec volume';
  assert.deepEqual(await request('store'), [403, refused]);
});
