import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { OrchProcess } from '../support/orch-process.ts';

/** The health of components as objects that nobody stores. */

interface Status {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly message: string }[];
}
interface Statuses {
  readonly kind: string;
  readonly metadata: object;
  readonly items: readonly Status[];
}

const path = '/api/v1/componentstatuses';
const leases = (name = ''): string => `/apis/coordination.orch.io/v1/namespaces/orch-system/leases${name}`;

describe('component statuses', () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start();
  });
  after(() => server[Symbol.asyncDispose]());

  const list = async (query = ''): Promise<Statuses> => (await server.get<Statuses>(`${path}${query}`)).json;
  const health = async (): Promise<readonly (readonly string[])[]> =>
    (await list()).items.map(({ metadata, conditions }) => [
      metadata.name,
      ...conditions.flatMap(({ type, status, message }) => [type, status, message]),
    ]);

  it('are listed with a warning, and follow the leases of components elsewhere', async () => {
    const listed = await server.get<Statuses>(path);
    const { json } = listed;
    assert.equal(listed.headers['warning'], '299 - "v1 ComponentStatus is deprecated in v1.19+"');
    assert.deepEqual([json.kind, json.metadata], ['ComponentStatusList', {}]);
    const rest = [
      ['controller-manager', 'Healthy', 'True', 'ok'],
      ['etcd-0', 'Healthy', 'True', 'ok'],
    ];
    const none = ['scheduler', 'Healthy', 'False', 'nobody holds the lease orch-system/orch-scheduler'];
    assert.deepEqual(await health(), [...rest, none]);
    const lease = { apiVersion: 'coordination.orch.io/v1', kind: 'Lease', metadata: { name: 'orch-scheduler' } };
    const spec = { holderIdentity: 'a', leaseDurationSeconds: 60, renewTime: '2020-01-01T00:00:00.000000Z' };
    await server.request('POST', leases(), { body: { ...lease, spec } });
    const over = ['scheduler', 'Healthy', 'False', 'the lease orch-system/orch-scheduler has run out'];
    assert.deepEqual(await health(), [...rest, over]);
    const renewed = { ...spec, renewTime: new Date().toISOString().replace('Z', '000Z') };
    const headers = { 'content-type': 'application/merge-patch+json' };
    await server.request('PATCH', leases('/orch-scheduler'), { body: { spec: renewed }, headers });
    assert.deepEqual(await health(), [...rest, ['scheduler', 'Healthy', 'True', 'ok']]);
  });

  it('are selected and shown like other objects', async () => {
    const names = async (query: string) => (await list(query)).items.map(({ metadata }) => metadata.name);
    assert.deepEqual(await names('?fieldSelector=metadata.name%3Detcd-0'), ['etcd-0']);
    assert.deepEqual(await names('?labelSelector=a'), []);
    const one = await server.get<Status>(`${path}/etcd-0`);
    assert.deepEqual([one.status, one.json.kind, one.json.conditions[0]?.status], [200, 'ComponentStatus', 'True']);
    const accept = 'application/json;as=Table;v=v1;g=meta.orch.io';
    const { json } = await server.get<{ rows: readonly { cells: unknown }[] }>(path, { headers: { accept } });
    assert.deepEqual(json.rows[1]?.cells, ['etcd-0', 'Healthy', 'ok', '']);
    for (const format of ['application/yaml', 'application/vnd.orch.protobuf']) {
      const { status, headers } = await server.get(path, { headers: { accept: format } });
      assert.deepEqual([status, headers['content-type']], [200, format]);
    }
  });

  it('are only read', async () => {
    const body = { apiVersion: 'v1', kind: 'ComponentStatus', metadata: { name: 'x' } };
    const requests = [
      ['GET', '/nobody', 404],
      ['POST', '', 405],
      ['PUT', '/etcd-0', 405],
      ['PATCH', '/etcd-0', 405],
      ['DELETE', '/etcd-0', 405],
      ['DELETE', '', 405],
      ['GET', '?watch=1', 405],
      ['GET', '?fieldSelector=spec.a%3Db', 400],
      ['GET', '/etcd-0/status', 404],
    ] as const;
    for (const [method, place, wanted] of requests) {
      const { status, text } = await server.request(method, `${path}${place}`, method === 'GET' ? {} : { body });
      assert.equal(status, wanted, `${method} ${place}: ${text}`);
    }
  });
});
