import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Kinds whose controllers run pods, as clients find them where no controller runs. */

const template = (name: string) => ({
  metadata: { labels: { app: name } },
  spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i:1' }] },
});
const batch = '/apis/batch/v1/namespaces/default/jobs';
const apps = '/apis/apps/v1/namespaces/default';
const core = '/api/v1/namespaces/default';

const job = (name: string, spec: object = {}) => ({
  ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name } },
  spec: { template: template(name), ...spec },
});
const deployment = (name: string, image = 'i:1') => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name } },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image }] } },
  },
});

interface Found extends ApiObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: ReturnType<typeof template>;
  };
  readonly status: Readonly<Record<string, unknown>>;
}

interface Table {
  readonly columnDefinitions: readonly { readonly name: string }[];
  readonly rows: readonly { readonly cells: readonly unknown[] }[];
}

describe('workloads', () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start();
  });
  after(() => server[Symbol.asyncDispose]());

  async function send(method: string, path: string, wanted: number, body?: object, type = 'json') {
    const sent = body && { body, headers: { 'content-type': `application/${type}` } };
    const { status, json, headers } = await server.request<Found>(method, path, sent);
    assert.equal(status, wanted, JSON.stringify(json));
    return { object: json, warning: [headers['warning'] ?? []].flat().join() };
  }

  it('a job selects its own pods by its uid', async () => {
    const { object } = await send('POST', batch, 201, job('one'));
    const uid = object.metadata.uid ?? '';
    assert.deepEqual(object.spec.selector.matchLabels, { 'batch.orch.io/controller-uid': uid });
    const labels = {
      'controller-uid': uid,
      'job-name': 'one',
      'batch.orch.io/controller-uid': uid,
      'batch.orch.io/job-name': 'one',
    };
    assert.deepEqual(object.spec.template.metadata.labels, { app: 'one', ...labels });
    const { object: made } = await send('POST', batch, 201, { ...job(''), metadata: { generateName: 'made-' } });
    assert.equal((made.spec.template.metadata.labels as Record<string, string>)['job-name'], made.metadata.name);
    await send('POST', batch, 422, job('other', { selector: { matchLabels: { mine: 'yes' } } }));
  });

  for (const [what, path, object, warns] of [
    ['a job', batch, job('kept'), true],
    [
      'a replication controller',
      `${core}/replicationcontrollers`,
      {
        apiVersion: 'v1',
        kind: 'ReplicationController',
        metadata: { name: 'kept' },
        spec: { template: { ...template('kept'), spec: { containers: [{ name: 'c', image: 'i:1' }] } } },
      },
      false,
    ],
  ] as const) {
    it(`${what} leaves its dependents, unless a deletion says otherwise`, async () => {
      await send('POST', path, 201, object);
      const { warning } = await send('DELETE', `${path}/kept`, 200);
      assert.equal(/propagationPolicy/.test(warning), warns, warning);
      const orphaned = await server.get<Found>(`${path}/kept`);
      // The collector may have seen to it already.
      if (orphaned.status === 200) assert.deepEqual(orphaned.json.metadata.finalizers, ['orphan']);
    });

    it(`${what} takes them along where it does`, async () => {
      const named = { ...object, metadata: { name: 'gone' } };
      await send('POST', path, 201, named);
      const { warning } = await send('DELETE', `${path}/gone?propagationPolicy=Background`, 200);
      assert.equal(warning, '');
      assert.equal((await server.get(`${path}/gone`)).status, 404);
    });
  }

  it('a deployment is scaled, and its generation counts what it wants', async () => {
    const path = `${apps}/deployments`;
    const { object } = await send('POST', path, 201, deployment('web'));
    assert.deepEqual([object.spec.replicas, object.metadata.generation], [1, 1]);
    const scale = (await send('GET', `${path}/web/scale`, 200)).object;
    assert.deepEqual(
      [scale.kind, scale.spec, scale.status],
      ['Scale', { replicas: 1 }, { replicas: 0, selector: 'app=web' }],
    );
    const table = { headers: { accept: 'application/json;as=Table;v=v1;g=meta.orch.io' } };
    const { json } = await server.get<Table>(`${path}/web/scale`, table);
    const shown = Object.fromEntries(json.columnDefinitions.map(({ name }, at) => [name, json.rows[0]?.cells[at]]));
    assert.deepEqual(shown, { Name: 'web', Desired: 1, Available: 0, Age: shown['Age'] });
    await send('PUT', `${path}/web/scale`, 200, { ...scale, spec: { replicas: 3 } });
    await send('PATCH', `${path}/web/scale`, 422, { spec: { replicas: -1 } }, 'merge-patch+json');
    const wanted = (await send('GET', `${path}/web`, 200)).object;
    assert.deepEqual([wanted.spec.replicas, wanted.metadata.generation], [3, 2]);
    await send('PATCH', `${path}/web/status`, 200, { status: { replicas: 3 } }, 'merge-patch+json');
    const seen = (await send('GET', `${path}/web`, 200)).object;
    assert.deepEqual([seen.status['replicas'], seen.metadata.generation], [3, 2]);
  });

  it('those who apply containers own theirs', async () => {
    const path = `${apps}/deployments/shared`;
    const apply = (manager: string, body: object, wanted: number) =>
      send('PATCH', `${path}?fieldManager=${manager}`, wanted, body, 'apply-patch+yaml');
    await apply('one', deployment('shared'), 201);
    const sidecar = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: { template: { spec: { containers: [{ name: 's', image: 's:1' }] } } },
    };
    const { object } = await apply('two', sidecar, 200);
    assert.deepEqual(
      object.spec.template.spec.containers.map(({ name }) => name),
      ['c', 's'],
    );
    const changed = { ...sidecar, spec: { template: { spec: { containers: [{ name: 'c', image: 'i:2' }] } } } };
    await apply('two', changed, 409);
  });
});
